// SPDX-License-Identifier: Apache-2.0
// Flame graph and icicle: the view's tree with a zoom, a cursor, and keys.

class GraphView {
	constructor(app) {
		this.app = app;
		this.scroller = byId('graph');
		this.flame = new Flame(this.scroller, app.look);
		this.tree = null;
		listenToCanvas(this, app, ({node}) => app.zoom(node));
		this.flame.canvas.addEventListener('keydown', (event) => this.key(event));
	}

	update() {
		const {state, tree} = this.app, flame = this.flame;
		if (this.tree !== tree || this.flip !== state.flip) {
			this.tree = tree;
			this.flip = state.flip;
			this.layer = new Layer(tree, state.flip ? 0 : tree.rows - 1, !state.flip);
			this.layer.from = tree.start[state.zoom];
			this.layer.width = tree.value[state.zoom] || 1;
			this.zoomed = state.zoom;
			flame.show([this.layer], tree.rows);
			this.scroller.scrollTop = state.flip ? 0 : this.scroller.scrollHeight;
			flame.reveal({layer: this.layer, node: state.zoom});
		} else if (this.zoomed !== state.zoom) {
			this.zoomed = state.zoom;
			flame.zoomTo(this.layer, state.zoom, this.app.animates);
			flame.reveal({layer: this.layer, node: state.zoom});
		}
		flame.cursor = this.app.cursor > 0 ? {layer: this.layer, node: this.app.cursor} : null;
		flame.paintSoon();
	}

	// The nearest visible node in the arrow's direction.
	neighbour(key) {
		const {tree, flame} = this, node = this.app.cursor, parent = tree.parent[node];
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
			app.zoom(app.cursor);
		else if (event.key === 'c')
			app.showMethod(app.tree.frame[app.cursor]);
		else if (!event.key.startsWith('Arrow') || event.ctrlKey || event.altKey)
			return;
		else
			this.moveTo(this.neighbour(event.key));
		event.preventDefault();
	}

	moveTo(node) {
		if (node === undefined)
			return;
		this.app.select(node);
		this.flame.reveal({layer: this.layer, node});
		this.app.announce(this.app.describe(this.tree, node).join(', '));
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
			app.tip(event, app.describe(flame.hover.layer.tree, flame.hover.node));
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
