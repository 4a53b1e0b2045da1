// SPDX-License-Identifier: Apache-2.0
// Call trees: made by adding paths of frames, then frozen in preorder. Numbers, not objects, so
// that a million nodes are merged in a fraction of a second.

// A whole tree. Node 0 is its root; the subtree of i is the nodes i to end[i] - 1; siblings stand in
// the order of their frames' numbers, which is that of their names.
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

	// In a difference: by which share a node is wide. Vanished stacks have no share after.
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

	// As far as the path of frames leads.
	find(path) {
		let node = 0;
		for (const frame of path) {
			const next = this.children(node).find((c) => this.frame[c] === frame);
			if (next === undefined)
				break;
			node = next;
		}
		return node;
	}

	// Calls visit for each node whose mark (by frame) is set and that is not within another: what
	// these contain is counted once.
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

class TreeBuilder {
	constructor(sets) {
		this.count = 1;
		this.frame = new Int32Array(1024).fill(-1, 0, 1);
		this.parent = new Int32Array(1024).fill(-1, 0, 1);
		this.self = Array.from({length: sets}, () => new Float64Array(1024));
		this.slots = new Int32Array(4096); // open addressing; 0: empty
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

	// The child of `parent` with this frame, made if new.
	child(parent, frame) {
		const i = this.slot(parent, frame);
		if (this.slots[i])
			return this.slots[i];
		const n = this.count++;
		if (n === this.frame.length)
			this.grow();
		this.frame[n] = frame;
		this.parent[n] = parent;
		this.slots[i] = n;
		if (this.count * 2 > this.slots.length)
			this.growSlots();
		return n;
	}

	grow() {
		const more = (old) => {
			const list = new old.constructor(old.length * 2);
			list.set(old);
			return list;
		};
		this.frame = more(this.frame);
		this.parent = more(this.parent);
		this.self = this.self.map(more);
	}

	growSlots() {
		this.slots = new Int32Array(this.slots.length * 2);
		for (let n = 1; n < this.count; n++)
			this.slots[this.slot(this.parent[n], this.frame[n])] = n;
	}

	// Heads and successors of each node's list of children, in the order of their frames.
	sortChildren(frames) {
		const n = this.count, at = new Int32Array(frames + 2), sorted = new Int32Array(n);
		for (let i = 1; i < n; i++)
			at[this.frame[i] + 1]++;
		for (let f = 1; f < at.length; f++)
			at[f] += at[f - 1];
		for (let i = 1; i < n; i++)
			sorted[at[this.frame[i]]++] = i;
		const first = new Int32Array(n), next = new Int32Array(n);
		for (let i = n - 2; i >= 0; i--) {
			const node = sorted[i];
			next[node] = first[this.parent[node]];
			first[this.parent[node]] = node;
		}
		return {first, next};
	}

	// The whole tree. order: for each node of the builder that of the tree.
	finish(frames) {
		const {first, next} = this.sortChildren(frames), sets = this.self.length;
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
