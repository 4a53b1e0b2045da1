// SPDX-License-Identifier: Apache-2.0
// Shows a method with its callers above and its callees below, merged from the whole tree. Of
// recursive calls the outermost counts, so that each sample counts once.

// Marks by frame: the frames of a method, whatever their kinds (compiled, inlined, …).
function framesNamed(rec, name) {
	return rec.frameName.map((n) => rec.names[n] === name);
}

function calleesOf(rec, tree, marks, from) {
	const b = new TreeBuilder(tree.self.length), to = new Int32Array(tree.count);
	tree.eachOutermost(marks, (top) => {
		for (let i = top; i < tree.end[top]; i++) {
			to[i] = i === top ? 0 : b.child(to[tree.parent[i]], rec.methodFrame[tree.frame[i]]);
			tree.self.forEach((list, s) => b.self[s][to[i]] += list[i]);
		}
	}, from);
	return b.finish().tree;
}

// Up to `from`, the frame that is zoomed to.
function callersOf(rec, tree, marks, from) {
	const b = new TreeBuilder(tree.self.length);
	tree.eachOutermost(marks, (top) => {
		let to = 0;
		for (let i = top; i !== from && (i = tree.parent[i]) > 0;)
			to = b.child(to, rec.methodFrame[tree.frame[i]]);
		tree.total.forEach((list, s) => b.self[s][to] += list[top]);
	}, from);
	return b.finish().tree;
}

const CALLERS_NONE = 'Select a method in the table of methods, or a frame’s “Callers & callees”.';

class CallersView {
	constructor(app) {
		this.app = app;
		this.scroller = byId('callers');
		this.flame = new Flame(this.scroller, app.look);
		listenToCanvas(this, app, ({layer, node}) => app.showMethod(layer.tree.frame[node]));
		this.flame.canvas.addEventListener('keydown', (event) => this.key(event));
	}

	update() {
		const {app, flame} = this, {rec, tree, state} = app;
		if (this.tree === tree && this.method === state.method && this.within === app.within) {
			flame.paintSoon();
			return;
		}
		Object.assign(this, {tree, method: state.method, within: app.within});
		const marks = framesNamed(rec, state.method);
		this.trees = [callersOf, calleesOf].map((make) => make(rec, tree, marks, app.within));
		const frame = this.trees[0].samples || this.trees[0].total[0][0] ? marks.indexOf(true) : -1;
		this.frame = frame;
		byId('callers-none').hidden = frame >= 0;
		byId('callers-none').textContent = marks.includes(true) ? `${state.method} is not within ${
			rec.nameOf(tree.frame[app.within])}.` : CALLERS_NONE;
		flame.canvas.hidden = frame < 0;
		for (const t of this.trees) {
			t.frame[0] = frame;
			if (rec.isDifference)
				t.weigh(state.sides);
		}
		const above = this.trees[0].rows - 1;
		const layers = [new Layer(this.trees[0], above, true), new Layer(this.trees[1], above, false)];
		flame.cursor = frame >= 0 ? {layer: layers[1], node: 0} : null;
		flame.show(frame >= 0 ? layers : [], above + this.trees[1].rows);
		this.scroller.scrollTop = above * ROW - this.scroller.clientHeight / 2;
	}

	describe(node, tree) {
		return this.app.describe(tree, node);
	}

	// Moves up towards the callers, down towards the callees, left and right to siblings.
	neighbour(key) {
		const {flame} = this, {layer, node} = flame.cursor, {tree} = layer;
		const widest = (l, n) => {
			const list = l.tree.children(n).sort((a, b) => l.tree.value[b] - l.tree.value[a]);
			return list.length ? {layer: l, node: list[0]} : null;
		};
		if (key === 'ArrowUp' || key === 'ArrowDown') {
			const away = (key === 'ArrowUp') === layer.up;
			if (node === 0)
				return widest(flame.layers[key === 'ArrowUp' ? 0 : 1], 0);
			return away ? widest(layer, node) : {layer, node: tree.parent[node]};
		}
		const siblings = node ? tree.children(tree.parent[node]) : [0];
		const next = siblings[siblings.indexOf(node) + (key === 'ArrowLeft' ? -1 : 1)];
		return next === undefined ? null : {layer, node: next};
	}

	key(event) {
		const {app, flame} = this;
		if (!flame.cursor)
			return;
		if (event.key === 'Enter' || event.key === ' ') {
			app.showMethod(flame.cursor.layer.tree.frame[flame.cursor.node]);
		} else if (event.key.startsWith('Arrow') && !event.ctrlKey && !event.altKey) {
			flame.cursor = this.neighbour(event.key) || flame.cursor;
			flame.reveal(flame.cursor);
			flame.paintSoon();
			app.announce(this.describe(flame.cursor.node, flame.cursor.layer.tree).join(', '));
		} else {
			return;
		}
		event.preventDefault();
	}
}
