// SPDX-License-Identifier: Apache-2.0
// Shows the focused frame: figures, source lines, callers and callees as buttons.

const LINES_SHOWN = 12, FRAMES_SHOWN = 12;

class Details {
	constructor(app) {
		this.app = app;
		this.panel = byId('details');
		this.body = byId('details-body');
	}

	update() {
		const {app} = this, {state, parts} = app, key = [state.view === 'callers' && state.method,
			state.view === 'timeline' && parts.timeline.number, app.cursor, state.zoom, app.look.theme].join();
		if (this.key === key && this.tree === app.tree)
			return;
		Object.assign(this, {key, tree: app.tree});
		this.body.replaceChildren(...state.view === 'callers' && parts.callers.frame >= 0
			? this.ofMethod(parts.callers) : state.view === 'timeline' ? parts.timeline.details()
				: this.ofNode(app.cursor));
		this.panel.scrollTop = 0;
	}

	ofNode(node) {
		const {app} = this, {tree, state} = app, frame = tree.frame[node], callers = [];
		for (let i = tree.parent[node]; i >= 0; i = tree.parent[i])
			callers.push(i);
		const go = (i) => app.zoom(i);
		return [...this.heading(frame, app.view.ranAt(node)),
			this.figures(tree.total.map((t) => t[node]), tree.self.map((t) => t[node]),
				state.zoom && tree.isBelow(node, state.zoom) ? tree.total[0][state.zoom] : 0, frame),
			frame < 0 ? el('p', {class: 'dim'}, 'Click a frame to zoom to it. Press ? for all keys.')
				: el('p', {class: 'actions'},
					state.zoom === node ? '' : el('button', {onclick: () => go(node)}, 'Zoom'),
					el('button', {onclick: () => app.showMethod(frame)}, 'Callers & callees'),
					this.searchButton(frame), copyButton('Copy name', () => app.rec.nameOf(frame)),
					copyButton('Copy stack', () => tree.path(node).map((f) => app.rec.nameOf(f)).reverse().join('\n'))),
			...this.lines(tree.total[tree.total.length - 1][node],
				frame < 0 ? null : (shown) => shown === node),
			...this.list('Called from', tree, callers, go, false),
			...this.list(node ? 'Calls' : 'Roots', tree, this.children(tree, node), go, true)];
	}

	ofMethod({trees: [callers, callees], frame}) {
		const {app} = this, {tree, rec} = app, marks = framesNamed(rec, rec.nameOf(frame));
		const method = methodsOf(rec, tree, app.within).find((m) => m.name === rec.frameName[frame]);
		const outermost = new Set();
		tree.eachOutermost(marks, (node) => outermost.add(node), app.within);
		const go = (in_) => (i) => app.showMethod(in_.frame[i]);
		return [...this.heading(frame), method ? this.figures(method.total, method.self, 0, frame) : '',
			el('p', {class: 'actions'}, this.searchButton(frame), copyButton('Copy name', () => rec.nameOf(frame))),
			...this.lines(callees.samples, (shown) => outermost.has(shown)),
			...this.list('Called from', callers, this.children(callers, 0), go(callers), true),
			...this.list('Calls', callees, this.children(callees, 0), go(callees), true)];
	}

	// ran: the kinds of a node's method.
	heading(frame, ran = []) {
		const {rec} = this.app, kind = rec.kindOf(frame), all = ran.reduce((sum, r) => sum + r.samples, 0);
		const kinds = ran.length > 1 && !rec.isDifference
			? ran.map((r) => `${r.kind.label} ${percentText(r.samples, all)}`).join(', ') : kind.label;
		return [el('h2', {}, ...wrappable(rec.nameOf(frame))), frame < 0
			? el('p', {class: 'dim'}, 'All samples shown')
			: el('p', {class: 'dim', title: kind.about}, this.app.swatch(frame), kinds)];
	}

	// total, self: one list each, or in a difference two; zoomed: samples of what is zoomed to, or 0.
	figures(total, self, zoomed, frame) {
		const {app} = this, whole = app.tree.total.map((t) => t[0]), rows = [];
		const add = (name, n, of) => rows.push(el('tr', {}, el('th', {scope: 'row'}, name),
			el('td', {class: 'number'}, countText(n)), el('td', {class: 'number'}, shareText(n, of))));
		const sides = app.rec.isDifference ? [' before', ' after'] : [''];
		sides.forEach((side, s) => {
			add(`Total${side}`, total[s], whole[s]);
			add(`Self${side}`, self[s], whole[s]);
		});
		if (app.rec.isDifference) {
			const change = app.changeOf(total, frame);
			rows.push(el('tr', {}, el('th', {scope: 'row'}, 'Change'), el('td', {colspan: 2,
				class: `number ${app.changeClass(change)}`},
			`${pointsText(change.points)}, ${scoreText(change.score)}`)));
		} else if (zoomed) {
			add('Of zoomed', total[0], zoomed);
		}
		return el('table', {class: 'figures'}, el('tbody', {}, ...rows));
	}

	searchButton(frame) {
		const literal = this.app.rec.nameOf(frame).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
		return el('button', {onclick: () => this.app.change({term: `^${literal}$`}, true)}, 'Search');
	}

	// wanted: true for the nodes of the tree that count; null: none.
	lines(total, wanted) {
		const list = wanted && !this.app.rec.isDifference ? this.app.view.lines(wanted) : [];
		const modules = [...new Set(list.map((l) => l.module))].filter((m) => m);
		const known = list.filter((l) => l.line);
		const parts = modules.map((m) => el('p', {class: 'dim module', title: 'File of its code'}, m));
		if (!known.length)
			return parts;
		const unknown = list.filter((l) => !l.line).reduce((sum, l) => sum + l.samples, 0);
		const row = (name, n) => el('tr', {}, el('th', {scope: 'row'}, name), el('td', {},
			bar(n, total)),
		el('td', {class: 'number'}, percentText(n, total)));
		const merged = new Map();
		known.forEach((l) => merged.set(l.line, (merged.get(l.line) || 0) + l.samples));
		const rows = [...merged].slice(0, LINES_SHOWN).map(([line, n]) => row(`line ${line}`, n));
		if (unknown)
			rows.push(row('not known', unknown));
		return [...parts, el('h3', {}, 'Source lines'),
			el('table', {class: 'lines'}, el('tbody', {}, ...rows))];
	}

	children(tree, node) {
		return tree.children(node).sort((a, b) => tree.value[b] - tree.value[a]);
	}

	// Lists the first frames as buttons, and a button for the rest: there can be a thousand callers.
	// Children get their shares of their parent.
	list(title, tree, nodes, go, shares) {
		if (!nodes.length)
			return [];
		const {app} = this, last = tree.total[tree.total.length - 1];
		const item = (i) => el('li', {}, el('button', {class: 'link', onclick: () => go(i)},
			...app.labelled(tree.frame[i])), shares
			? el('span', {class: 'number dim'}, percentText(last[i], last[tree.parent[i]])) : '');
		const rest = nodes.slice(FRAMES_SHOWN), more = el('li', {}, el('button', {class: 'link dim',
			onclick: () => more.replaceWith(...rest.map(item))}, `${grouped(rest.length)} more`));
		return [el('h3', {}, title), el('ol', {class: 'frames'},
			...nodes.slice(0, FRAMES_SHOWN).map(item), rest.length ? more : '')];
	}
}
