// SPDX-License-Identifier: Apache-2.0
// The table of methods: samples that ended in a method (self), and those with it (total). All kinds
// of a method (compiled, inlined, interpreted) are one line.

const METHODS_SHOWN = 300;

function methodsOf(rec, tree, from) {
	const sets = tree.self.length, open = new Int32Array(rec.names.length), path = [], found = new Map();
	for (let i = from; i < tree.end[from]; i++) {
		while (path.length && tree.end[path[path.length - 1]] <= i)
			open[rec.frameName[tree.frame[path.pop()]]]--;
		const frame = tree.frame[i];
		if (frame < 0 || rec.frameKind[frame] === rec.rootKind)
			continue;
		const name = rec.frameName[frame];
		let m = found.get(name);
		if (!m)
			found.set(name, m = {name, frame, most: 0, self: new Array(sets).fill(0),
				total: new Array(sets).fill(0)});
		for (let s = 0; s < sets; s++) {
			m.self[s] += tree.self[s][i];
			if (!open[name])
				m.total[s] += tree.total[s][i];
		}
		if (tree.self[sets - 1][i] > m.most) {
			m.most = tree.self[sets - 1][i];
			m.frame = frame;
		}
		open[name]++;
		path.push(i);
	}
	return [...found.values()];
}

class MethodsView {
	constructor(app) {
		this.app = app;
		this.shown = METHODS_SHOWN;
		this.table = byId('methods').querySelector('table');
		this.more = byId('methods-more');
		this.more.addEventListener('click', () => {
			this.shown *= 4;
			this.draw();
		});
		const columns = app.rec.isDifference ? [['before', 'Before'], ['total', 'After'],
			['self', 'Self after'], ['change', 'Change'], ['score', 'z'], ['name', 'Method']]
			: [['self', 'Self'], ['total', 'Total'], ['name', 'Method']];
		this.columns = columns.map(([key]) => key);
		this.table.tHead.append(el('tr', {}, ...columns.map(([key, label]) =>
			el('th', {scope: 'col', 'data-sort': key, class: key === 'name' ? 'name' : 'number'},
				el('button', {onclick: () => app.change({sort: key})}, label)))));
	}

	update() {
		const {app} = this, {rec, tree} = app;
		if (this.tree !== tree || this.within !== app.within) {
			this.tree = tree;
			this.within = app.within;
			this.shown = METHODS_SHOWN;
			this.list = methodsOf(rec, tree, app.within);
			if (rec.isDifference)
				this.list.forEach((m) => Object.assign(m, app.changeOf(m.total, m.frame)));
		}
		this.draw();
	}

	get sort() {
		return this.app.state.sort || (this.app.rec.isDifference ? 'change' : 'self');
	}

	sorted() {
		const {marks} = this.app, last = this.app.tree.total.length - 1;
		const key = {self: (m) => m.self[last], total: (m) => m.total[last], before: (m) => m.total[0],
			change: (m) => Math.abs(m.points), score: (m) => Math.abs(m.score)}[this.sort];
		const list = marks ? this.list.filter((m) => marks[m.frame]) : [...this.list];
		const byName = (a, b) => a.name - b.name;
		return this.sort === 'name' || !key ? list.sort(byName)
			: list.sort((a, b) => key(b) - key(a) || byName(a, b));
	}

	draw() {
		const {app} = this, list = this.sorted();
		for (const th of this.table.tHead.querySelectorAll('th'))
			th.setAttribute('aria-sort', th.dataset.sort !== this.sort ? 'none'
				: th.dataset.sort === 'name' ? 'ascending' : 'descending');
		const whole = app.wholes, last = whole.length - 1;
		this.table.tBodies[0].replaceChildren(...list.slice(0, this.shown).map((m) =>
			el('tr', {}, ...this.columns.map((key) => this.cell(key, m, whole, last)))));
		this.more.hidden = list.length <= this.shown;
		this.more.textContent = `Show more of ${grouped(list.length)} methods`;
	}

	cell(key, m, whole, last) {
		const {app} = this, frame = m.frame;
		if (key === 'name')
			return el('td', {class: 'name'}, el('button', {class: 'link',
				onclick: () => app.showMethod(frame)}, ...app.labelled(frame)));
		if (key === 'change')
			return el('td', {class: `number ${app.changeClass(m)}`}, pointsText(m.points));
		if (key === 'score')
			return el('td', {class: 'number'}, signedText(m.score, 1));
		const set = key === 'before' ? 0 : last, n = key === 'self' ? m.self[last] : m.total[set];
		return el('td', {class: 'number'}, bar(n, whole[set]),
			el('span', {class: 'share'}, shareText(n, whole[set])));
	}
}
