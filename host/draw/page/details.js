// SPDX-License-Identifier: Apache-2.0
// All that is known of the frame in focus: figures, source lines, callers and callees as buttons.

const LINES_SHOWN = 12, CALLEES_SHOWN = 15;

class Details {
	constructor(app) {
		this.app = app;
		this.panel = byId('details');
		this.body = byId('details-body');
	}

	// node: of the view's tree.
	update() {
		const {app} = this, node = app.cursor;
		if (this.node === node && this.tree === app.tree && this.term === app.state.term)
			return;
		Object.assign(this, {node, tree: app.tree, term: app.state.term});
		this.body.replaceChildren(...this.heading(node), this.figures(node), this.actions(node),
			...this.lines(node), ...this.callers(node), ...this.callees(node));
	}

	heading(node) {
		const {rec, tree} = this.app, frame = tree.frame[node], kind = rec.kindOf(frame);
		return [el('h2', {}, rec.nameOf(frame)), frame < 0
			? el('p', {class: 'dim'}, 'All that is shown')
			: el('p', {class: 'dim', title: kind.about}, this.app.swatch(frame), kind.label)];
	}

	figures(node) {
		const {app} = this, {tree, rec, state} = app, rows = [];
		const add = (name, n, whole) => rows.push(el('tr', {}, el('th', {scope: 'row'}, name),
			el('td', {class: 'number'}, grouped(n)), el('td', {class: 'number'}, shareText(n, whole))));
		if (rec.isDifference) {
			['before', 'after'].forEach((name, s) => {
				add(`Total ${name}`, tree.total[s][node], tree.total[s][0]);
				add(`Self ${name}`, tree.self[s][node], tree.total[s][0]);
			});
			const change = app.changeOf(tree.total.map((t) => t[node]));
			rows.push(el('tr', {}, el('th', {scope: 'row'}, 'Change'), el('td', {colspan: 2,
				class: `number ${app.changeClass(change)}`},
			`${pointsText(change.points)}, z\u00a0=\u00a0${change.score.toFixed(1)}`)));
		} else {
			add('Total', tree.total[0][node], tree.samples);
			add('Self', tree.self[0][node], tree.samples);
			if (state.zoom && tree.isBelow(node, state.zoom))
				add('Of zoomed', tree.total[0][node], tree.total[0][state.zoom]);
		}
		return el('table', {class: 'figures'}, el('tbody', {}, ...rows));
	}

	actions(node) {
		const {app} = this, {tree, rec, state} = app, frame = tree.frame[node];
		if (frame < 0)
			return el('p', {class: 'dim'}, 'Click a frame to zoom to it. Press ? for all keys.');
		const literal = rec.nameOf(frame).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
		return el('p', {class: 'actions'},
			state.zoom === node ? '' : el('button', {onclick: () => app.zoom(node)}, 'Zoom'),
			el('button', {onclick: () => app.showMethod(frame)}, 'Callers & callees'),
			el('button', {onclick: () => app.change({term: `^${literal}$`}, true)}, 'Search'));
	}

	lines(node) {
		const {app} = this, {tree} = app, total = tree.total[tree.total.length - 1][node];
		const list = tree.frame[node] < 0 || app.rec.isDifference ? []
			: app.view.lines((shown) => shown === node);
		const modules = [...new Set(list.map((l) => l.module))].filter((m) => m);
		const known = list.filter((l) => l.line);
		const parts = modules.map((m) => el('p', {class: 'dim module', title: 'The file its code is in'}, m));
		if (!known.length)
			return parts;
		const unknown = list.filter((l) => !l.line).reduce((sum, l) => sum + l.samples, 0);
		const row = (name, n) => el('tr', {}, el('th', {scope: 'row'}, name), el('td', {},
			el('meter', {min: 0, max: total || 1, value: n, 'aria-hidden': 'true'})),
		el('td', {class: 'number'}, percentText(n, total)));
		const merged = new Map();
		known.forEach((l) => merged.set(l.line, (merged.get(l.line) || 0) + l.samples));
		const rows = [...merged].slice(0, LINES_SHOWN).map(([line, n]) => row(`line ${line}`, n));
		if (unknown)
			rows.push(row('not known', unknown));
		return [...parts, el('h3', {}, 'Source lines'),
			el('table', {class: 'lines'}, el('tbody', {}, ...rows))];
	}

	button(node, text) {
		const {app} = this;
		return el('button', {class: 'link', onclick: () => app.zoom(node)},
			app.swatch(app.tree.frame[node]), text || app.rec.nameOf(app.tree.frame[node]));
	}

	callers(node) {
		const {tree} = this.app, items = [];
		for (let i = tree.parent[node]; i >= 0; i = tree.parent[i])
			items.push(el('li', {}, this.button(i)));
		return items.length ? [el('h3', {}, 'Called from'), el('ol', {class: 'frames'}, ...items)] : [];
	}

	callees(node) {
		const {tree} = this.app, last = tree.total.length - 1;
		const list = tree.children(node).sort((a, b) => tree.value[b] - tree.value[a]);
		if (!list.length)
			return [];
		const more = list.length - CALLEES_SHOWN;
		return [el('h3', {}, node ? 'Calls' : 'Roots'), el('ol', {class: 'frames'},
			...list.slice(0, CALLEES_SHOWN).map((i) => el('li', {}, this.button(i),
				el('span', {class: 'number dim'}, percentText(tree.total[last][i], tree.total[last][node])))),
			more > 0 ? el('li', {class: 'dim'}, `${grouped(more)} more`) : '')];
	}
}
