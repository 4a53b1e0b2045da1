// SPDX-License-Identifier: Apache-2.0
// Folds chains of only children to one row each: what a frame spends almost all of its time in says
// little. The first frame of a chain, which stands beside others, the last one, which branches, and
// the application's methods that the verdict names keep their rows.

const ONLY_CHILD = 0.95, CHAIN_LEAST = 2;

// The names in the verdict: of methods, and of classes with the methods of both sides; causes of waits.
function toldNames({verdict, wall}) {
	if (!verdict)
		return new Set();
	const subjects = verdict.subjects.flatMap(([, , ...names]) => names);
	return new Set([...verdict.methods.map(([name]) => name), ...subjects, 'held by', 'waiting for', 'woken by',
		...verdict.waits.map((wait) => wait.at(-1)), ...wall ? wall.causes : []]);
}

class Folding {
	// opened: nodes that keep rows of their own, with the whole chain they are in; null: all.
	constructor(rec, tree, opened) {
		const n = tree.count;
		this.tree = tree;
		this.row = new Int32Array(n); // by node
		this.head = new Int32Array(n).fill(-1); // by node: the first of its folded chain; -1: none
		this.sizes = new Map(); // by head
		this.only = this.onlyChildren();
		this.rows = 1;
		if (opened)
			this.foldChains(rec, opened);
		for (let i = 1; i < n; i++) {
			this.row[i] = this.row[tree.parent[i]] + (this.isInside(i) ? 0 : 1);
			this.rows = Math.max(this.rows, this.row[i] + 1);
		}
	}

	// By node: the child that has almost all of its samples; 0: none.
	onlyChildren() {
		const {tree} = this, {value, parent} = tree, only = new Int32Array(tree.count);
		for (let i = 1; i < tree.count; i++)
			if (value[i] > 0 && value[i] >= ONLY_CHILD * value[parent[i]])
				only[parent[i]] = i;
		return only;
	}

	foldChains(rec, opened) {
		const {tree, only} = this, told = toldNames(rec);
		const folds = (i) => i > 0 && only[i] > 0 && only[tree.parent[i]] === i &&
			rec.frameKind[tree.frame[i]] !== rec.rootKind && !told.has(rec.nameOf(tree.frame[i]));
		for (let i = 1; i < tree.count; i++) {
			if (!folds(i) || folds(tree.parent[i]))
				continue;
			const chain = [];
			for (let at = i; folds(at); at = only[at])
				chain.push(at);
			if (chain.length < CHAIN_LEAST || chain.some((at) => opened.has(at)))
				continue;
			for (const at of chain)
				this.head[at] = i;
			this.sizes.set(i, chain.length);
		}
	}

	// The number of frames in the chain that the node begins; 0: none.
	size(node) {
		return this.sizes.get(node) || 0;
	}

	// True for the frames of a chain after its first: that one's row is theirs.
	isInside(node) {
		return this.head[node] >= 0 && this.head[node] !== node;
	}

	first(node) {
		return this.head[node] < 0 ? node : this.head[node];
	}

	chain(node) {
		const first = this.first(node), list = [first];
		while (list.length < this.size(first))
			list.push(this.only[list[list.length - 1]]);
		return list;
	}

	last(node) {
		const list = this.chain(node);
		return list[list.length - 1];
	}

	// The first node from here on that branches.
	branch(node) {
		while (this.only[node])
			node = this.only[node];
		return node;
	}
}
