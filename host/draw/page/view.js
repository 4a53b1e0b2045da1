// SPDX-License-Identifier: Apache-2.0
// What of the recording is looked at: a span of time, roots split or merged, kinds left out.
// Its product is one tree, which all pictures and tables show.

// The roots that stand for a stack's first frame, the thread's name.
class Roots {
	constructor(rec, state) {
		this.rec = rec;
		this.group = rec.samples ? state.group : '';
		this.threads = rec.samples || state.threads !== 'id' ? state.threads : 'name';
		this.known = new Map();
		// All labels at once and in order: frames are shown in the order of their numbers.
		const labels = rec.threadRoots.flatMap(({thread, root}) =>
			this.path(thread, rec.nodeFrame[root]).filter((part) => typeof part === 'string'));
		for (const label of [...new Set(labels)].sort((a, b) => a.localeCompare(b, 'en', {numeric: true})))
			rec.rootFrame(label);
	}

	// Whether samples of one stack can have different roots.
	get byThread() {
		return this.group !== '' || this.threads === 'id';
	}

	// Labels, and the name's own frame where it stays.
	path(thread, name) {
		const rec = this.rec, path = [], text = rec.nameOf(name);
		const [pid, tid, origin] = rec.threads[thread] || [];
		if (this.group === 'container')
			path.push(rec.origins[origin].container || 'no container');
		else if (this.group === 'process')
			path.push(`process ${pid}`);
		if (this.threads === 'name')
			path.push(name);
		else if (this.threads === 'id')
			path.push(`${text} · ${tid}`);
		else if (this.threads === 'pool')
			path.push(text.replace(/\d+/g, '#'));
		return path;
	}

	// The node of `builder` that the frames of this thread's stack hang from.
	node(builder, thread, root) {
		const key = this.byThread ? thread * this.rec.nodeCount + root : root;
		let node = this.known.get(key);
		if (node === undefined) {
			node = 0;
			for (const part of this.path(thread, this.rec.nodeFrame[root]))
				node = builder.child(node,
					typeof part === 'string' ? this.rec.rootFrame(part) : part);
			this.known.set(key, node);
		}
		return node;
	}
}

// What is counted: nodes of the recording with their samples; of each the thread, where it matters.
function chooseEntries(rec, state, roots) {
	const sampled = rec.samples, hasSpan = state.to > state.from;
	if (!sampled || !hasSpan && !roots.byThread) {
		const nodes = [];
		for (let i = 0; i < rec.nodeCount; i++)
			if (rec.counts.some((list) => list[i]))
				nodes.push(i);
		return {node: nodes, thread: null, counts: rec.counts.map((list) => nodes.map((i) => list[i]))};
	}
	const node = [], thread = [];
	for (let i = 0; i < sampled.count; i++) {
		if (hasSpan && !(sampled.time[i] >= state.from && sampled.time[i] < state.to))
			continue;
		node.push(sampled.node[i]);
		thread.push(sampled.thread[i]);
	}
	return {node, thread, counts: [node.map(() => 1)]};
}

// Pairs are what became of the recording's nodes: each of them below each root it is shown under.
// They lead from a node of the tree back to source lines.
class View {
	constructor(rec, state) {
		this.rec = rec;
		this.hidden = rec.kinds.map((k) => state.hide.includes(k.letter));
		this.builder = new TreeBuilder(rec.counts.length);
		this.pairs = {node: [], parent: [], shown: [], self: rec.counts.map(() => [])};
		const roots = new Roots(rec, state), entries = chooseEntries(rec, state, roots);
		this.addAll(entries, entries.node.map((node, i) => node === 0 ? 0
			: roots.node(this.builder, entries.thread ? entries.thread[i] : 0, rec.nodeRoot[node])),
		roots.byThread);
		const {tree, order} = this.builder.finish(rec.frameName.length);
		this.tree = tree;
		this.pairs.shown = this.pairs.shown.map((node) => order[node]);
		this.builder = null;
		if (rec.isDifference)
			tree.weigh(state.sides);
	}

	addAll(entries, tops, byThread) {
		const order = tops.map((_, i) => i);
		if (byThread)
			order.sort((a, b) => tops[a] - tops[b]);
		this.seenUnder = new Int32Array(this.rec.nodeCount).fill(-1);
		this.pairOf = new Int32Array(this.rec.nodeCount);
		for (const i of order) {
			const pair = this.pair(entries.node[i], tops[i]);
			entries.counts.forEach((list, s) => {
				this.builder.self[s][this.pairs.shown[pair]] += list[i];
				this.pairs.self[s][pair] += list[i];
			});
		}
		this.seenUnder = this.pairOf = null;
	}

	// The pair of a node below a root; with those above it, made if new.
	pair(node, top) {
		const missing = [], {nodeParent, nodeFrame, frameKind} = this.rec;
		for (; node >= 0 && this.seenUnder[node] !== top; node = nodeParent[node])
			missing.push(node);
		let pair = node >= 0 ? this.pairOf[node] : -1;
		for (let i = missing.length - 1; i >= 0; i--) {
			const n = missing[i], isTop = n === 0 || nodeParent[n] === 0;
			let shown = isTop ? n && top : this.pairs.shown[pair];
			if (!isTop && !this.hidden[frameKind[nodeFrame[n]]])
				shown = this.builder.child(shown, nodeFrame[n]);
			pair = this.addPair(n, pair, shown);
			this.seenUnder[n] = top;
			this.pairOf[n] = pair;
		}
		return pair;
	}

	addPair(node, parent, shown) {
		const {pairs} = this;
		pairs.node.push(node);
		pairs.parent.push(parent);
		pairs.self.forEach((list) => list.push(0));
		return pairs.shown.push(shown) - 1;
	}

	// Samples by source line of the nodes that `wanted` says yes to, most first.
	lines(wanted) {
		const {rec, pairs} = this, last = pairs.self[pairs.self.length - 1];
		const total = Float64Array.from(last), found = new Map();
		for (let i = total.length - 1; i > 0; i--) {
			if (pairs.parent[i] >= 0)
				total[pairs.parent[i]] += total[i];
			if (!pairs.node[i] || this.hidden[rec.frameKind[rec.nodeFrame[pairs.node[i]]]] ||
			    !wanted(pairs.shown[i]))
				continue;
			const place = rec.nodePlace[pairs.node[i]];
			const key = `${rec.placeModule[place]}:${rec.placeLine[place]}`;
			const entry = found.get(key) || {line: rec.placeLine[place],
				module: rec.modules[rec.placeModule[place]], samples: 0};
			entry.samples += total[i];
			found.set(key, entry);
		}
		return [...found.values()].sort((a, b) => b.samples - a.samples);
	}
}
