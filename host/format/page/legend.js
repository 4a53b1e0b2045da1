// SPDX-License-Identifier: Apache-2.0
// Lists the kinds of frames with their shares of the samples. A kind can be highlighted (the others
// fade), or hidden: its time then goes to the callers.

const LEGEND_ORDER = 'jipvnksut';

class Legend {
	constructor(app) {
		this.app = app;
		this.place = byId('legend');
		this.keys = new Map();
		const occurs = new Set(app.rec.frameKind.map((k) => app.rec.kinds[k].letter));
		for (const letter of LEGEND_ORDER)
			if (occurs.has(letter) && letter !== 't')
				this.place.append(this.key(app.rec.kinds.find((k) => k.letter === letter)));
		this.hidden = app.rec.isDifference;
	}

	key(kind) {
		const {app} = this, {letter} = kind, share = el('span', {class: 'dim'});
		const swatch = el('span', {class: 'swatch'});
		const show = el('button', {class: 'show', title: `${kind.about}. Click to fade all others.`,
			onclick: () => app.change({kind: app.state.kind === letter ? '' : letter}, true)},
		swatch, kind.label, ' ', share);
		const hide = el('button', {class: 'hide', 'aria-label': `Leave out ${kind.label}`,
			title: 'Hide these frames; their time goes to the caller',
			onclick: () => app.change({hide: app.state.hide.includes(letter)
				? app.state.hide.replace(letter, '') : app.state.hide + letter}, true)}, '×');
		this.keys.set(letter, {kind, swatch, share, show, hide});
		return el('span', {class: 'key'}, show, hide);
	}

	// Shares are of the samples that end in a frame of the kind.
	update() {
		const {app} = this, {tree, rec, state} = app;
		if (this.tree !== tree || this.within !== app.within) {
			this.tree = tree;
			this.within = app.within;
			this.self = app.view.selfByKind(app.within);
		}
		for (const [letter, key] of this.keys) {
			key.swatch.style.background = cssColour(key.kind.colour, app.look.theme === 'dark');
			key.share.textContent = percentText(this.self[rec.kinds.indexOf(key.kind)],
				app.wholes[0]);
			key.show.setAttribute('aria-pressed', state.kind === letter);
			key.hide.setAttribute('aria-pressed', state.hide.includes(letter));
			key.show.parentNode.classList.toggle('out', state.hide.includes(letter));
		}
	}
}
