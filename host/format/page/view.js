// SPDX-License-Identifier: Apache-2.0
// Selects a part of the recording: a span of time, roots split or merged, kinds hidden. Makes the
// one tree that all pictures and tables show.

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

	// True if samples of one stack can have different roots.
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
			path.push(`${text} · ${tid < 2 ** 30 ? tid : `virtual ${tid - 2 ** 30}`}`);
		else if (this.threads === 'pool')
			path.push(rec.poolOf(name));
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

// Counts the nodes of the recording with their samples, and by thread if needed.
function chooseEntries(rec, state, roots) {
	const {samples} = rec, hasSpan = state.to > state.from, node = [], thread = [];
	if (samples && (hasSpan || roots.byThread)) {
		for (let i = 0; i < samples.count; i++) {
			if (hasSpan && !(samples.time[i] >= state.from && samples.time[i] < state.to))
				continue;
			node.push(samples.node[i]);
			thread.push(samples.thread[i]);
		}
		return {node, thread, counts: [new Uint8Array(node.length).fill(1)]};
	}
	if (rec.wall && hasSpan) // what is not within a wait that is listed has no times
		return chooseWaits(rec, state);
	for (let i = 0; i < rec.nodeCount; i++)
		if (rec.counts.some((list) => list[i]) && (state.idle || !rec.nodeIdle[i]))
			node.push(i);
	return {node, counts: rec.counts.map((list) => node.map((i) => list[i]))};
}

// The waits within a span, with the ns of each that are in it.
function chooseWaits(rec, {from, to, idle}) {
	const inside = rec.wall.waits.filter((w) => w.begin < to && w.end > from && (idle || !w.idle));
	return {node: inside.map((w) => w.node),
		counts: [inside.map((w) => Math.round(1e9 * (Math.min(w.end, to) - Math.max(w.begin, from))))]};
}

// Maps nodes of the tree back to the recording's, for their source lines: each node once below each
// root that it is shown under. The parent of a pair comes before it.
class Pairs {
	constructor(sets, room) {
		this.count = 0;
		for (const name of ['node', 'parent', 'shown'])
			this[name] = new Int32Array(room);
		this.self = Array.from({length: sets}, () => new Float64Array(room));
	}

	add(node, parent, shown) {
		const pair = this.count++;
		if (pair === this.node.length) {
			for (const name of ['node', 'parent', 'shown'])
				this[name] = doubled(this[name]);
			this.self = this.self.map(doubled);
		}
		this.node[pair] = node;
		this.parent[pair] = parent;
		this.shown[pair] = shown;
		return pair;
	}
}

class View {
	constructor(rec, state) {
		this.rec = rec;
		this.start = state.full ? -1 : rec.startFrame; // stands for the frames that start a thread
		this.hidden = rec.kinds.map((k) => state.hide.includes(k.letter));
		const builder = new TreeBuilder(rec.counts.length, rec.nodeCount + 16);
		this.missing = []; // of pair()
		this.pairs = new Pairs(rec.counts.length, rec.nodeCount + 16);
		this.addAll(builder, new Roots(rec, state), state);
		const {tree, order} = builder.finish(), {shown} = this.pairs;
		this.tree = tree;
		for (let i = 0; i < this.pairs.count; i++)
			shown[i] = order[shown[i]];
		this.sumPairs();
		this.chooseKinds();
		if (rec.isDifference)
			tree.weigh(state.sides);
	}

	addAll(builder, roots, state) {
		const {rec, pairs} = this, entries = chooseEntries(rec, state, roots), {counts} = entries;
		const tops = entries.node.map((node, i) => node === 0 ? 0
			: roots.node(builder, entries.thread ? entries.thread[i] : 0, rec.nodeRoot[node]));
		const order = tops.map((_, i) => i);
		if (roots.byThread)
			order.sort((a, b) => tops[a] - tops[b]);
		// By node of the recording: the root it was last met under, and its pair there.
		const met = {under: new Int32Array(rec.nodeCount).fill(-1), pair: new Int32Array(rec.nodeCount)};
		for (const i of order) {
			const pair = this.pair(builder, met, entries.node[i], tops[i]), shown = pairs.shown[pair];
			for (let s = 0; s < counts.length; s++) {
				builder.self[s][shown] += counts[s][i];
				pairs.self[s][pair] += counts[s][i];
			}
		}
	}

	// The pair of a node below a root, made with its ancestors if new. Not recursive, since the recorded
	// program decides how deep a stack is.
	pair(builder, met, node, top) {
		const {rec, pairs, hidden, missing} = this;
		let pair = -1;
		for (; met.under[node] !== top; node = rec.nodeParent[node]) {
			missing.push(node);
			if (rec.nodeParent[node] <= 0)
				break;
		}
		if (met.under[node] === top)
			pair = met.pair[node];
		while (missing.length) {
			node = missing.pop();
			let shown = pair < 0 ? node && top : pairs.shown[pair];
			const frame = this.frameOf(node);
			if (pair >= 0 && !hidden[rec.frameKind[frame]])
				shown = builder.child(frame === this.start ? top : shown, rec.methodFrame[frame]);
			pair = pairs.add(node, pair, shown);
			met.under[node] = top;
			met.pair[node] = pair;
		}
		return pair;
	}

	// The frame that a node of the recording is shown as, unless its kind is hidden.
	frameOf(node) {
		return this.start >= 0 && this.rec.nodeStarts[node] ? this.start : this.rec.nodeFrame[node];
	}

	// Totals of the pairs, and the kind of the frame that each is shown as: its own, or if that is
	// hidden its caller's.
	sumPairs() {
		const {rec, pairs, hidden} = this, {count, node, parent} = pairs;
		this.total = pairs.self[pairs.self.length - 1].slice(0, count);
		this.kind = new Uint8Array(count);
		for (let i = count - 1; i >= 0; i--)
			if (parent[i] >= 0)
				this.total[parent[i]] += this.total[i];
		for (let i = 0; i < count; i++) {
			const kind = node[i] ? rec.frameKind[this.frameOf(node[i])] : rec.rootKind;
			this.kind[i] = hidden[kind] && parent[i] >= 0 ? this.kind[parent[i]] : kind;
		}
	}

	// By kind of Java methods: the samples in which each node of the tree ran so. The tree gets the frame
	// of the kind that has the most, by which it is coloured.
	chooseKinds() {
		const {rec, tree, pairs, hidden} = this;
		this.ran = new Map(rec.kinds.map((k, kind) => [kind, k.letter]).filter(([, letter]) => JAVA.includes(letter))
			.map(([kind]) => [kind, new Float64Array(tree.count)]));
		for (let i = 0; i < pairs.count; i++) {
			const kind = pairs.node[i] ? rec.frameKind[this.frameOf(pairs.node[i])] : -1;
			if (this.ran.has(kind) && !hidden[kind])
				this.ran.get(kind)[pairs.shown[i]] += this.total[i];
		}
		for (let i = 1; i < tree.count; i++) {
			const frame = tree.frame[i];
			for (let f = frame + 1; rec.methodFrame[f] === rec.methodFrame[frame]; f++)
				if (this.ran.get(rec.frameKind[f])[i] > this.ran.get(rec.frameKind[tree.frame[i]])[i])
					tree.frame[i] = f;
		}
	}

	// The kinds in which the Java method at a node ran, the most frequent first, with samples.
	ranAt(node) {
		return [...this.ran].map(([kind, list]) => ({kind: this.rec.kinds[kind], samples: list[node]}))
			.filter(({samples}) => samples).sort((a, b) => b.samples - a.samples);
	}

	// Samples that end in frames of each kind, below a node.
	selfByKind(node) {
		const {tree, pairs} = this, self = pairs.self[pairs.self.length - 1];
		const ret = new Float64Array(this.rec.kinds.length);
		for (let i = 0; i < pairs.count; i++)
			if (pairs.shown[i] && tree.isBelow(pairs.shown[i], node))
				ret[this.kind[i]] += self[i];
		return ret;
	}

	// Samples by source line of the nodes that are `wanted`, most first.
	lines(wanted) {
		const {rec, pairs} = this, found = new Map();
		for (let i = pairs.count - 1; i >= 0; i--) {
			if (!pairs.node[i] || this.hidden[rec.frameKind[rec.nodeFrame[pairs.node[i]]]] ||
			    !wanted(pairs.shown[i]))
				continue;
			const place = rec.nodePlace[pairs.node[i]];
			const key = `${rec.placeModule[place]}:${rec.placeLine[place]}`;
			const entry = found.get(key) || {line: rec.placeLine[place],
				module: rec.modules[rec.placeModule[place]], samples: 0};
			entry.samples += this.total[i];
			found.set(key, entry);
		}
		return [...found.values()].sort((a, b) => b.samples - a.samples);
	}
}
