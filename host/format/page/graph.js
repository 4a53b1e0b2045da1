// SPDX-License-Identifier: Apache-2.0
// Flame graph and icicle: the view's tree with a zoom, a cursor, and keys.

const BRANCH_ROWS = 3, CHAIN_NAMES = 14;

class GraphView {
	constructor(app) {
		this.app = app;
		this.scroller = byId('graph');
		this.flame = new Flame(this.scroller, app.look);
		this.tree = null;
		this.opened = new Set(); // nodes whose chains are not folded
		listenToCanvas(this, app, (hit) => this.choose(hit));
		this.flame.canvas.addEventListener('keydown', (event) => this.key(event));
	}

	update() {
		const {state, tree} = this.app, flame = this.flame;
		if (this.tree !== tree)
			this.opened.clear();
		if (this.tree !== tree || this.flip !== state.flip) {
			this.tree = tree;
			this.flip = state.flip;
			this.fold();
			this.scroller.scrollTop = state.flip ? 0 : this.scroller.scrollHeight;
			this.revealBranch();
		} else if (state.zoom && this.layer.folding && this.layer.folding.head[state.zoom] >= 0) {
			this.open(state.zoom);
		} else if (this.zoomed !== state.zoom) {
			this.zoomed = state.zoom;
			flame.zoomTo(this.layer, state.zoom, this.app.animates);
			flame.reveal({layer: this.layer, node: state.zoom});
		}
		flame.cursor = this.app.cursor > 0 ? {layer: this.layer, node: this.app.cursor} : null;
		flame.paintSoon();
	}

	// Lays the tree out, with its chains folded.
	fold() {
		const {state} = this.app, {tree, flame} = this;
		if (state.zoom)
			this.opened.add(state.zoom);
		const folding = new Folding(this.app.rec, tree, state.full ? null : this.opened);
		this.layer = new Layer(tree, state.flip ? 0 : folding.rows - 1, !state.flip, folding);
		this.layer.from = tree.start[state.zoom];
		this.layer.width = tree.value[state.zoom] || 1;
		this.zoomed = state.zoom;
		flame.show([this.layer], folding.rows);
	}

	// Shows all frames of the node's chain; what is at the root's side of it stays where it is.
	open(node) {
		const {scroller} = this, below = scroller.scrollHeight - scroller.scrollTop;
		const size = this.layer.folding.chain(node).length;
		this.opened.add(node);
		this.fold();
		scroller.scrollTop = this.flip ? scroller.scrollTop : scroller.scrollHeight - below;
		this.flame.reveal({layer: this.layer, node});
		this.flame.paintSoon();
		this.app.announce(`${size} frames shown`);
	}

	foldAll() {
		this.opened.clear();
		this.tree = null;
	}

	// Scrolls to the frame that is zoomed to; else to where the graph branches, with some of the rows
	// that lead there.
	revealBranch() {
		const {layer, flame, scroller} = this, {state} = this.app;
		const y = layer.row(layer.folding.branch(0)) * ROW, rows = BRANCH_ROWS * ROW;
		if (state.zoom)
			flame.reveal({layer, node: state.zoom});
		else if (state.flip && y > scroller.scrollTop + flame.height - rows)
			scroller.scrollTop = y - rows;
		else if (!state.flip && y < scroller.scrollTop + rows)
			scroller.scrollTop = y + ROW + rows - flame.height;
	}

	choose({node}) {
		if (this.layer.folded(node))
			this.open(node);
		else
			this.app.zoom(node);
	}

	// The nearest visible node in the arrow's direction; a folded chain counts as its first frame.
	neighbour(key) {
		const {folding} = this.layer, inward = this.app.state.flip ? 'ArrowDown' : 'ArrowUp';
		const next = this.nextNode(key, key === inward ? folding.last(this.app.cursor)
			: folding.first(this.app.cursor));
		return next === undefined ? next : folding.first(next);
	}

	nextNode(key, node) {
		const {tree, flame} = this, parent = tree.parent[node];
		const seen = (i) => i !== undefined && flame.box(this.layer, i).w >= NARROW;
		const outward = this.app.state.flip ? 'ArrowUp' : 'ArrowDown';
		if (key === outward)
			return parent < 0 ? undefined : parent;
		if (key === 'ArrowUp' || key === 'ArrowDown')
			return tree.children(node).sort((a, b) => tree.value[b] - tree.value[a]).find(seen);
		const siblings = parent < 0 ? [node] : tree.children(parent).filter(seen);
		const at = siblings.indexOf(node);
		return siblings[key === 'ArrowLeft' ? at - 1 : at + 1];
	}

	key(event) {
		const {app} = this;
		if (event.key === 'Enter' || event.key === ' ')
			this.choose({node: app.cursor});
		else if (event.key === 'c')
			app.showMethod(app.tree.frame[app.cursor]);
		else if (!event.key.startsWith('Arrow') || event.ctrlKey || event.altKey)
			return;
		else
			this.moveTo(this.neighbour(event.key));
		event.preventDefault();
	}

	describe(node) {
		const {app, layer} = this, n = layer.folded(node);
		if (!n)
			return app.describe(this.tree, node);
		const names = layer.folding.chain(node).map((i) => app.rec.nameOf(this.tree.frame[i]));
		const cut = names.length > CHAIN_NAMES ? [...names.slice(0, CHAIN_NAMES - 1), '…',
			names[names.length - 1]] : names;
		return [`${n} frames, each with almost all of the time of the one before. A click shows them.`,
			...cut, ...app.describe(this.tree, node).slice(1)];
	}

	moveTo(node) {
		if (node === undefined)
			return;
		this.app.select(node);
		this.flame.reveal({layer: this.layer, node});
		this.app.announce(this.describe(node).join(', '));
	}
}

// Pointing shows a tooltip, a click selects.
function listenToCanvas(view, app, choose) {
	const {flame} = view, {canvas} = flame;
	const at = (event) => flame.at(event.offsetX, event.offsetY);
	canvas.addEventListener('pointermove', (event) => {
		flame.hover = at(event);
		canvas.style.cursor = flame.hover ? 'pointer' : 'default';
		flame.paintSoon();
		if (flame.hover)
			app.tip(event, view.describe(flame.hover.node, flame.hover.layer.tree));
		else
			app.hideTip();
	});
	canvas.addEventListener('pointerleave', () => {
		flame.hover = null;
		flame.paintSoon();
		app.hideTip();
	});
	canvas.addEventListener('click', (event) => {
		const hit = at(event);
		if (hit)
			choose(hit);
	});
}
