// SPDX-License-Identifier: Apache-2.0
// Unpacks the page's data, as html_data.c wrote it, into arrays. Nothing here changes afterwards.

const JAVA = 'jip'; // letters of the kinds of Java methods

// Unsigned LEB128 in base64 (html_data.c).
function unpackBytes(text) {
	const raw = atob(text), bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	return bytes;
}

function unpack(text, Type = Int32Array) {
	const bytes = unpackBytes(text), n = bytes.length;
	let count = 0;
	for (let i = 0; i < n; i++)
		count += bytes[i] < 128 ? 1 : 0;
	const numbers = new Type(count);
	for (let i = 0, at = 0; i < count; i++) {
		let b = bytes[at++], number = b & 127;
		for (let unit = 128; b >= 128; unit *= 128) {
			b = bytes[at++];
			number += (b & 127) * unit;
		}
		numbers[i] = number;
	}
	return numbers;
}

const signed = (n) => n % 2 ? -(n + 1) / 2 : n / 2;

// Turns steps of 0 and 1 into the numbers they count up to, from 0.
function counted(steps) {
	let n = -1;
	return steps.map((step) => n += step);
}

class Recording {
	constructor(json) {
		Object.assign(this, {title: json.title, subtitle: json.subtitle, quality: json.quality,
			verdict: json.verdict, // of one profile
			leftOut: json.left_out, kinds: json.kinds, names: json.names, modules: json.modules,
			certain: json.z, freedom: json.freedom}); // in a difference: see stats.js
		Object.assign(counting, {unit: json.unit || 'samples', worth: json.worth || [1, 1]});
		this.rootKind = this.kinds.findIndex((k) => k.letter === 't');
		this.choices = json.choices || {};
		this.pools = json.pools || {}; // by name of a thread, where it is another
		this.starts = new Set(json.starts || []); // frames that start a thread
		this.made = new Map();
		// Lists that can grow: see rootFrame.
		this.frameName = [...counted(unpack(json.frames.name))];
		this.frameKind = [...unpack(json.frames.kind)];
		this.methodFrame = this.joinMethods();
		this.frameColour = this.readColours(unpackBytes(json.frames.colour));
		// In a difference: how much more a frame's samples vary than independent ones.
		this.frameSpread = json.frames.spread ? [...unpack(json.frames.spread)].map((n) => n / 100) : [];
		this.placeFrame = counted(unpack(json.places.frame));
		this.placeLine = unpack(json.places.line);
		this.placeModule = unpack(json.places.module);
		this.readNodes(json.nodes);
		this.samples = json.samples ? this.readSamples(json.samples) : null;
		this.wall = json.wall ? this.readWall(json.wall) : null; // of a recording of the wall clock
		this.findIdle();
		this.threads = json.threads || [];
		this.origins = json.origins || [];
	}

	// Seconds that there are times of: of samples, or of waits; 0: none.
	get duration() {
		return this.samples ? this.samples.duration : this.wall ? this.wall.duration : 0;
	}

	readColours(bytes) {
		const colours = [];
		for (let i = 0; i < bytes.length; i += 3)
			colours.push(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
		return colours;
	}

	isJava(frame) {
		return frame >= 0 && JAVA.includes(this.kinds[this.frameKind[frame]].letter);
	}

	// By frame: the first of those of the same method, compiled, inlined or interpreted. They stand
	// side by side. One that is no method stands for itself.
	joinMethods() {
		const first = [];
		for (let i = 0; i < this.frameName.length; i++)
			first.push(i > 0 && this.frameName[i] === this.frameName[i - 1] && this.isJava(i) &&
				this.isJava(i - 1) ? first[i - 1] : i);
		return first;
	}

	// In preorder; node 0 is the root of all. nodeRoot: the node next to it that each is below.
	readNodes(json) {
		const up = unpack(json.up), place = unpack(json.place), n = up.length + 1;
		this.nodeCount = n;
		this.nodeParent = new Int32Array(n);
		this.nodePlace = new Int32Array(n);
		this.nodeFrame = new Int32Array(n);
		this.nodeRoot = new Int32Array(n);
		this.nodeStarts = new Uint8Array(n); // 1: only frames that start a thread are up to the root
		this.nodeParent[0] = this.nodeFrame[0] = -1;
		for (let i = 1; i < n; i++) {
			let parent = i - 1;
			for (let steps = up[i - 1]; steps > 0; steps--)
				parent = this.nodeParent[parent];
			this.nodeParent[i] = parent;
			this.nodePlace[i] = place[i - 1];
			this.nodeFrame[i] = this.placeFrame[place[i - 1]];
			this.nodeRoot[i] = parent ? this.nodeRoot[parent] : i;
			this.nodeStarts[i] = parent && this.starts.has(this.nodeFrame[i]) && (this.nodeStarts[parent] ||
				this.nodeParent[parent] === 0 && this.frameKind[this.nodeFrame[parent]] === this.rootKind) ? 1 : 0;
		}
		// One list of counts, or two in a difference: before and after.
		this.counts = [json.before, json.self].filter((text) => text !== undefined)
			.map((text) => unpack(text, Float64Array));
		for (const list of this.counts.filter((c) => c.length === 0))
			this.counts[this.counts.indexOf(list)] = new Float64Array(1);
		this.whole = this.counts[this.counts.length - 1].reduce((sum, n) => sum + n, 0);
		this.isDifference = this.counts.length === 2;
	}

	readSamples(json) {
		const deltas = unpack(json.time, Float64Array), time = new Float64Array(deltas.length);
		let ticks = 0, last = 0;
		for (let i = 0; i < deltas.length; i++) {
			ticks += signed(deltas[i]);
			time[i] = ticks * json.tick;
			last = Math.max(last, time[i]);
		}
		return {count: time.length, time, node: unpack(json.node), thread: unpack(json.thread),
			duration: last};
	}

	// Marks the nodes (1) of threads that wait for something to do. Profiles of the wall clock have them, but no list of waits.
	findIdle() {
		this.nodeIdle = new Uint8Array(this.nodeCount);
		if (counting.unit !== 'ns' || this.isDifference)
			return;
		for (let i = 1; i < this.nodeCount; i++) {
			const parent = this.nodeParent[i], belowCause = parent && this.nodeParent[parent] === this.nodeRoot[i];
			this.nodeIdle[i] = this.nodeIdle[parent] || belowCause && this.nameOf(this.nodeFrame[i]) === 'idle' ? 1 : 0;
		}
		this.hasIdle = this.nodeIdle.includes(1);
	}

	// The waits, in seconds.
	readWall(json) {
		const begin = unpack(json.begin, Float64Array), length = unpack(json.length, Float64Array);
		const list = ['thread', 'cause', 'node', 'waker'].map((name) => unpack(json[name])), waits = [];
		for (let i = 0, at = 0; i < begin.length; i++) {
			at += signed(begin[i]);
			const [thread, cause, node, waker] = list.map((l) => l[i]);
			waits.push({thread, begin: at / 1e6, end: (at + length[i]) / 1e6, cause: cause >> 1,
				idle: cause % 2 === 1, node, waker: waker - 1});
		}
		return {least: json.least, causes: json.causes, waits,
			duration: waits.reduce((last, w) => Math.max(last, w.end), 0),
			threads: json.threads.map(([name, pid, tid, busy]) => ({name, pid, tid, busy}))};
	}

	// The pairs of a thread and a child of the root that it has stacks below, each once.
	get threadRoots() {
		if (!this.knownRoots) {
			const keys = new Set(), n = this.nodeCount;
			if (this.samples)
				this.samples.node.forEach((node, i) =>
					keys.add(this.samples.thread[i] * n + this.nodeRoot[node]));
			else
				this.nodeParent.forEach((parent, node) => parent || keys.add(node));
			this.knownRoots = [...keys].filter((key) => key % n)
				.map((key) => ({thread: Math.floor(key / n), root: key % n}));
		}
		return this.knownRoots;
	}

	// Adds a frame that is not in the data: a root such as "process 4711".
	rootFrame(label) {
		return this.madeFrame(label, this.rootKind);
	}

	// The frame that stands for those that start a thread (thread_root.h).
	get startFrame() {
		return this.madeFrame('[thread start]', this.kinds.findIndex((k) => k.letter === 'n'));
	}

	madeFrame(label, kind) {
		let frame = this.made.get(label);
		if (frame === undefined) {
			frame = this.frameName.push(this.names.push(label) - 1) - 1;
			this.frameKind.push(kind);
			this.methodFrame.push(frame);
			this.frameColour.push(this.kinds[kind].colour);
			this.made.set(label, frame);
		}
		return frame;
	}

	poolOf(frame) {
		return this.pools[this.frameName[frame]] || this.nameOf(frame);
	}

	nameOf(frame) {
		return frame < 0 ? 'all' : this.names[this.frameName[frame]];
	}

	kindOf(frame) {
		return this.kinds[frame < 0 ? this.rootKind : this.frameKind[frame]];
	}
}
