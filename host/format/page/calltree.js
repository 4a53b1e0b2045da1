// SPDX-License-Identifier: Apache-2.0
// Shows the tree as text: an ARIA treegrid with the graph's content, for screen readers and for
// figures.

const CHILDREN_SHOWN = 100, HOT_PATH = 0.5, INDENT = 8;

class CallTreeView {
	constructor(app) {
		this.app = app;
		this.body = byId('tree').querySelector('tbody');
		this.body.addEventListener('keydown', (event) => this.key(event));
	}

	update() {
		const {tree, state} = this.app;
		if (this.tree === tree && this.top === state.zoom && this.marks === this.app.marks)
			return;
		this.tree = tree;
		this.top = state.zoom;
		this.marks = this.app.marks;
		this.body.replaceChildren(this.row(state.zoom, 1));
		const first = this.body.rows[0];
		first.tabIndex = 0;
		this.openHot(first);
	}

	row(node, level) {
		const {app, tree} = this, last = tree.self.length - 1, frame = tree.frame[node];
		const leaf = tree.end[node] === node + 1, number = (list) =>
			el('td', {class: 'number', role: 'gridcell'}, shareText(list[last][node], app.wholes[last]));
		const name = el('td', {class: 'name', role: 'gridcell'},
			el('span', {class: 'twisty', 'aria-hidden': 'true'}, leaf ? ' ' : '▸'), app.swatch(frame),
			el('span', {class: app.marks && app.marks[frame] ? 'hit' : ''},
				app.rec.nameOf(frame)));
		name.style.paddingLeft = `${level * INDENT}px`;
		const row = el('tr', {role: 'row', 'aria-level': level, tabindex: -1,
			'aria-expanded': leaf ? undefined : 'false', 'data-node': node,
			onclick: () => {
				this.focus(row);
				this.turn(row);
			}}, number(tree.total), number(tree.self), name);
		return row;
	}

	toggle(row, open = row.getAttribute('aria-expanded') === 'false') {
		const level = Number(row.getAttribute('aria-level')), node = Number(row.dataset.node);
		if (!row.hasAttribute('aria-expanded') || (row.getAttribute('aria-expanded') === 'true') === open)
			return;
		row.setAttribute('aria-expanded', open);
		row.querySelector('.twisty').textContent = open ? '▾' : '▸';
		if (!open) {
			while (row.nextSibling && Number(row.nextSibling.getAttribute('aria-level')) > level)
				row.nextSibling.remove();
			return;
		}
		const {tree} = this, children = tree.children(node).sort((a, b) => tree.value[b] - tree.value[a]);
		const rows = children.slice(0, CHILDREN_SHOWN).map((c) => this.row(c, level + 1));
		if (children.length > CHILDREN_SHOWN)
			rows.push(el('tr', {role: 'row', 'aria-level': level + 1}, el('td', {role: 'gridcell',
				colspan: 3, class: 'dim'}, `${grouped(children.length - CHILDREN_SHOWN)} more with less`)));
		row.after(...rows);
	}

	// Handles a click.
	turn(row) {
		if (row.getAttribute('aria-expanded') === 'false')
			this.openHot(row);
		else
			this.toggle(row);
	}

	// Opens the path with the most samples.
	openHot(row) {
		const {tree} = this;
		for (let level = 0; row && level < 60; level++) {
			const node = Number(row.dataset.node);
			this.toggle(row, true);
			const next = row.nextSibling;
			row = next && next.dataset.node &&
				tree.value[next.dataset.node] >= HOT_PATH * tree.value[node] ? next : null;
		}
	}

	focus(row) {
		for (const other of this.body.querySelectorAll('[tabindex="0"]'))
			other.tabIndex = -1;
		row.tabIndex = 0;
		row.focus();
		this.app.select(Number(row.dataset.node));
	}

	key(event) {
		const row = event.target.closest('tr'), open = row.getAttribute('aria-expanded') === 'true';
		const level = Number(row.getAttribute('aria-level'));
		let to = null;
		if (event.key === 'ArrowDown')
			to = row.nextSibling;
		else if (event.key === 'ArrowUp')
			to = row.previousSibling;
		else if (event.key === 'ArrowRight' && open)
			to = row.nextSibling;
		else if (event.key === 'ArrowRight')
			this.toggle(row, true);
		else if (event.key === 'ArrowLeft' && open)
			this.toggle(row, false);
		else if (event.key === 'ArrowLeft')
			for (to = row.previousSibling; to && Number(to.getAttribute('aria-level')) >= level;)
				to = to.previousSibling;
		else if (event.key === 'Enter' || event.key === ' ')
			this.turn(row);
		else if (event.key === 'c')
			this.app.showMethod(this.tree.frame[row.dataset.node]);
		else
			return;
		event.preventDefault();
		if (to && to.dataset.node)
			this.focus(to);
	}
}
