// SPDX-License-Identifier: Apache-2.0
// Call trees: made by adding paths of frames, then frozen in preorder. Numbers, not objects, so
// that a million nodes are merged in a fraction of a second.

// A whole tree. Node 0 is its root; the subtree of i is the nodes i to end[i] - 1; siblings stand
// in the order of their frames' numbers, which is that of their names.
class Tree {
	constructor(count, sets) {
		this.count = count;
		for (const name of ['frame', 'parent', 'depth', 'end'])
			this[name] = new Int32Array(count);
		this.self = Array.from({length: sets}, () => new Float64Array(count));
		this.total = Array.from({length: sets}, () => new Float64Array(count));
		this.start = new Float64Array(count); // left edge, in the units of value
		this.value = this.total[0]; // width
		this.rows = 1;
	}

	get samples() {
		return this.total[this.total.length - 1][0];
	}

	// In a difference: the share that gives a node its width. Vanished stacks have no share after.
	weigh(sides) {
		const [before, after] = this.total;
		const share = (list, i) => list[0] ? list[i] / list[0] : 0;
		this.value = new Float64Array(this.count);
		for (let i = 0; i < this.count; i++)
			this.value[i] = sides === 'before' ? share(before, i) : sides === 'after'
				? share(after, i) : (share(before, i) + share(after, i)) / 2;
		this.placeAll();
	}

	placeAll() {
		const filled = new Float64Array(this.count); // right edge of the children placed so far
		for (let i = 1; i < this.count; i++) {
			const parent = this.parent[i];
			this.start[i] = filled[parent];
			filled[i] = this.start[i];
			filled[parent] += this.value[i];
		}
	}

	isBelow(node, ancestor) {
		return node >= ancestor && node < this.end[ancestor];
	}

	children(node) {
		const list = [];
		for (let i = node + 1; i < this.end[node]; i = this.end[i])
			list.push(i);
		return list;
	}

	path(node) {
		const frames = [];
		for (; node > 0; node = this.parent[node])
			frames.push(this.frame[node]);
		return frames.reverse();
	}

	// Follows the path of frames as far as it exists. same: by frame, what is equal for a step.
	find(path, same, from = 0) {
		let node = from;
		for (const frame of path) {
			const next = this.children(node).find((c) => same[this.frame[c]] === same[frame]);
			if (next === undefined)
				break;
			node = next;
		}
		return node;
	}

	// The same where the roots may have changed: below each frame that isRoot, without the path's own
	// roots. Of several places that are equally deep, the widest.
	findBelow(path, same, isRoot) {
		const rest = path.filter((frame) => !isRoot(frame)), exact = this.find(path, same);
		let best = exact, depth = this.depth[exact] < path.length ? 0 : path.length;
		const visit = (node, roots) => {
			const found = this.find(rest, same, node), deep = this.depth[found] - roots;
			if (deep > depth || deep === depth && deep && this.value[found] > this.value[best])
				[best, depth] = [found, deep];
			this.children(node).filter((c) => isRoot(this.frame[c])).forEach((c) => visit(c, roots + 1));
		};
		if (depth < path.length && rest.length)
			visit(0, 0);
		return depth ? best : exact;
	}

	// Calls visit for each node whose mark (by frame) is set and that is not within another such node,
	// so that samples are counted once.
	eachOutermost(marks, visit, from = 0) {
		for (let i = from; i < this.end[from];) {
			const frame = this.frame[i];
			if (frame >= 0 && marks[frame]) {
				visit(i);
				i = this.end[i];
			} else {
				i++;
			}
		}
	}
}

// A typed array of twice the size.
function doubled(old) {
	const list = new old.constructor(old.length * 2);
	list.set(old);
	return list;
}

const FEW_CHILDREN = 8; // are looked through; those of a node with more are found by a hash

class TreeBuilder {
	constructor(sets, room = 1024) {
		this.count = 1;
		for (const name of ['frame', 'parent', 'first', 'next', 'children'])
			this[name] = new Int32Array(room);
		this.frame[0] = this.parent[0] = -1;
		this.self = Array.from({length: sets}, () => new Float64Array(room));
		this.slots = new Int32Array(4096); // open addressing; 0: empty
		this.hashed = 0;
	}

	// The child of `parent` with this frame, made if new. Lists begin with the newest child.
	child(parent, frame) {
		const {next, children} = this, frames = this.frame;
		if (children[parent] <= FEW_CHILDREN) {
			for (let n = this.first[parent]; n; n = next[n])
				if (frames[n] === frame)
					return n;
			return this.add(parent, frame);
		}
		return this.slots[this.slot(parent, frame)] || this.add(parent, frame);
	}

	add(parent, frame) {
		const n = this.count++;
		if (n === this.frame.length)
			this.grow();
		this.frame[n] = frame;
		this.parent[n] = parent;
		this.next[n] = this.first[parent];
		this.first[parent] = n;
		if (++this.children[parent] === FEW_CHILDREN + 1)
			for (let i = n; i; i = this.next[i])
				this.hash(i);
		else if (this.children[parent] > FEW_CHILDREN)
			this.hash(n);
		return n;
	}

	slot(parent, frame) {
		const mask = this.slots.length - 1;
		let i = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
		i = (i ^ i >>> 15) & mask;
		for (let n = this.slots[i]; n; n = this.slots[i]) {
			if (this.parent[n] === parent && this.frame[n] === frame)
				break;
			i = i + 1 & mask;
		}
		return i;
	}

	hash(node) {
		if (++this.hashed * 2 > this.slots.length) {
			const old = this.slots;
			this.slots = new Int32Array(old.length * 2);
			for (const n of old)
				if (n)
					this.slots[this.slot(this.parent[n], this.frame[n])] = n;
		}
		this.slots[this.slot(this.parent[node], this.frame[node])] = node;
	}

	grow() {
		for (const name of ['frame', 'parent', 'first', 'next', 'children'])
			this[name] = doubled(this[name]);
		this.self = this.self.map(doubled);
	}

	// Puts the list of a node's children into the order of their frames.
	sortChildren(node) {
		const {first, next, frame} = this;
		let list = 0, sorted = true;
		for (let n = first[node], after; n; n = after) { // turned over: the oldest comes first
			after = next[n];
			sorted = sorted && (list === 0 || frame[n] < frame[list]);
			next[n] = list;
			list = n;
		}
		first[node] = list;
		if (sorted)
			return;
		const all = [];
		for (let n = list; n; n = next[n])
			all.push(n);
		all.sort((a, b) => frame[a] - frame[b]);
		first[node] = all[0];
		all.forEach((n, i) => next[n] = all[i + 1] || 0);
	}

	// The whole tree. order: for each node of the builder that of the tree.
	finish() {
		const {first, next} = this, sets = this.self.length;
		const tree = new Tree(this.count, sets), order = new Int32Array(this.count);
		for (let node = 0, i = 0, depth = 0; ;) {
			order[node] = i;
			tree.frame[i] = this.frame[node];
			tree.parent[i] = node ? order[this.parent[node]] : -1;
			tree.depth[i] = depth;
			for (let s = 0; s < sets; s++)
				tree.self[s][i] = tree.total[s][i] = this.self[s][node];
			i++;
			if (first[node]) {
				this.sortChildren(node);
				node = first[node];
				depth++;
				continue;
			}
			tree.rows = Math.max(tree.rows, depth + 1);
			for (; node && !next[node]; node = this.parent[node], depth--)
				tree.end[order[node]] = i;
			tree.end[order[node]] = i;
			if (!node)
				break;
			node = next[node];
		}
		for (let i = tree.count - 1; i > 0; i--)
			for (let s = 0; s < sets; s++)
				tree.total[s][tree.parent[i]] += tree.total[s][i];
		tree.placeAll();
		return {tree, order};
	}
}
