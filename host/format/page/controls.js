// SPDX-License-Identifier: Apache-2.0
// Head, toolbar, foot, and the global keys.

class Controls {
	constructor(app) {
		this.app = app;
		const {rec} = app;
		byId('title').textContent = rec.title;
		byId('subtitle').textContent = rec.subtitle;
		byId('quality').textContent = rec.quality;
		byId('left-out').append(...rec.leftOut.map((text) => el('p', {}, `Not in this page: ${text}`)));
		if (counting.unit !== 'samples')
			byId('empty').textContent = 'Nothing of this event while recording.';
		byId('empty').hidden = rec.counts.some((list) => list.some((n) => n > 0));
		byId('sides').parentNode.hidden = !rec.isDifference;
		byId('legend').hidden = rec.isDifference;
		byId('change-legend').hidden = !rec.isDifference;
		byId('certain').textContent = rec.certain;
		byId('idle').hidden = !rec.hasIdle;
		byId('tab-timeline').hidden = !rec.wall;
		if (!rec.samples) {
			byId('group').parentNode.hidden = true;
			byId('threads').querySelector('[value=id]').remove();
		}
		this.listen();
	}

	listen() {
		const {app} = this, term = byId('term');
		const onClick = (id, action) => byId(id).addEventListener('click', action);
		onClick('back', () => history.back());
		onClick('reset', () => app.reset());
		onClick('flip', () => app.change({flip: !app.state.flip}));
		onClick('match-case', () => app.change({matchCase: !app.state.matchCase}));
		onClick('full', () => app.change({full: !app.state.full}));
		onClick('idle', () => app.change({idle: !app.state.idle}, true));
		onClick('all', () => app.change({zoom: 0}, true));
		onClick('next', () => app.nextMatch(1));
		onClick('previous', () => app.nextMatch(-1));
		onClick('help', () => byId('keys').showModal());
		onClick('theme', () => this.switchTheme());
		for (const id of ['group', 'threads', 'sides'])
			byId(id).addEventListener('change', (event) => app.change({[id]: event.target.value}, true));
		term.addEventListener('input', () => {
			app.change({term: term.value});
			app.announce(byId('matched').textContent);
		});
		term.addEventListener('keydown', (event) => {
			if (event.key === 'Enter')
				app.nextMatch(event.shiftKey ? -1 : 1);
			else if (event.key === 'Escape')
				term.blur();
			else
				return;
			event.preventDefault();
			event.stopPropagation();
		});
		const tabs = [...document.querySelectorAll('[role=tab]')].filter((tab) => !tab.hidden);
		for (const tab of tabs) {
			tab.addEventListener('click', () => app.change({view: tab.dataset.view}, true));
			tab.addEventListener('keydown', (event) => {
				const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
				if (!step)
					return;
				const to = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
				app.change({view: to.dataset.view}, true);
				to.focus();
			});
		}
		addEventListener('keydown', (event) => this.key(event));
	}

	switchTheme() {
		const {app} = this, other = app.look.theme === 'dark' ? 'light' : 'dark';
		app.change({theme: other === (app.look.system.matches ? 'dark' : 'light') ? '' : other});
	}

	key(event) {
		const {app} = this, term = byId('term'), views = CHOICES.view;
		if ((event.ctrlKey || event.metaKey) && event.key === 'f' || event.key === 'F3') {
			term.focus();
			term.select();
			event.preventDefault();
			return;
		}
		if (event.ctrlKey || event.altKey || event.metaKey || byId('keys').open ||
		    /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
			return;
		const actions = {'/': () => term.focus(), Escape: () => app.reset(), b: () => canGoBack() && history.back(),
			Backspace: () => canGoBack() && history.back(), f: () => app.change({flip: !app.state.flip}),
			n: () => app.nextMatch(1), N: () => app.nextMatch(-1), t: () => this.switchTheme(),
			'?': () => byId('keys').showModal(), u: () => app.change({full: !app.state.full})};
		views.forEach((view, i) => actions[i + 1] = () => app.change({view}, true));
		if (!actions[event.key])
			return;
		actions[event.key]();
		event.preventDefault();
	}

	update() {
		const {app} = this, {state, tree, matches} = app, term = byId('term');
		for (const tab of document.querySelectorAll('[role=tab]')) {
			const chosen = tab.dataset.view === state.view;
			tab.setAttribute('aria-selected', chosen);
			tab.tabIndex = chosen ? 0 : -1;
		}
		for (const id of ['group', 'threads', 'sides'])
			byId(id).value = state[id];
		if (document.activeElement !== term)
			term.value = state.term;
		for (const swatch of byId('change-legend').querySelectorAll('.swatch'))
			swatch.style.background = app.look.changeColour(swatch.dataset.side, 1);
		byId('flip').setAttribute('aria-pressed', state.flip);
		byId('flip').disabled = state.view !== 'graph';
		byId('match-case').setAttribute('aria-pressed', state.matchCase);
		byId('full').setAttribute('aria-pressed', state.full);
		byId('idle').setAttribute('aria-pressed', state.idle);
		byId('within').hidden = !state.zoom;
		byId('within-name').textContent = state.zoom ? app.rec.nameOf(tree.frame[state.zoom]) : '';
		byId('back').disabled = !canGoBack();
		byId('reset').disabled = !['zoom', 'term', 'kind', 'hide', 'from', 'to']
			.some((key) => state[key] !== START[key]);
		byId('next').disabled = byId('previous').disabled = !matches.length;
		const last = tree.total.length - 1, found = matches.reduce((sum, i) => sum + tree.total[last][i], 0);
		byId('matched').textContent = state.term
			? `${shareText(found, tree.total[last][state.zoom])} in ${grouped(matches.length)} ${
				matches.length === 1 ? 'place' : 'places'}${app.marked > matches.length
				? `, ${grouped(app.marked)} frames` : ''}` : '';
		byId('shown').textContent = tree.samples === app.rec.whole ? ''
			: `${samplesText(tree.samples)} of ${countText(app.rec.whole)} shown`;
	}
}
