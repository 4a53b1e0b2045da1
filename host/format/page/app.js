// SPDX-License-Identifier: Apache-2.0
// Connects the recording, the state and the parts of the page: a control changes the state, and the
// parts that depend on it are drawn again.

const VIEW_KEYS = ['from', 'to', 'group', 'threads', 'full', 'hide', 'sides', 'idle']; // that make another tree

class App {
	constructor(rec) {
		this.rec = rec;
		this.cursor = 0; // node of the tree, shown in the details
		setStart(rec.choices, rememberedPanels());
		this.state = stateFromHash(location.hash);
		this.verdict = new Verdict(this); // first: it changes the room for the others
		this.look = new Look(this);
		this.makeView();
		this.cursor = this.state.zoom;
		this.parts = {graph: new GraphView(this), tree: new CallTreeView(this),
			methods: new MethodsView(this), callers: new CallersView(this),
			timeline: new TimelineView(this)};
		this.legend = new Legend(this);
		this.heat = new Heat(this);
		this.details = new Details(this);
		this.panels = new Panels(this);
		this.controls = new Controls(this);
		this.animates = false;
		this.draw();
		this.animates = !matchMedia('(prefers-reduced-motion: reduce)').matches;
		addEventListener('popstate', () => this.load());
		addEventListener('hashchange', () => this.load());
	}

	get tree() {
		return this.view.tree;
	}

	makeView() {
		const {state} = this, key = VIEW_KEYS.map((name) => state[name]).join();
		if (state.view === 'timeline' && !this.rec.wall) // by its key, or the URL of another page
			state.view = 'graph';
		if (this.viewKey !== key) {
			this.viewKey = key;
			this.view = new View(this.rec, state);
		}
		state.zoom = state.zoom < this.tree.count ? state.zoom : 0;
		this.cursor = this.cursor < this.tree.count ? this.cursor : 0;
	}

	// asStep: Back returns from it.
	change(what, asStep = false) {
		const {tree, state} = this, zoomed = tree.path(state.zoom), pointed = tree.path(this.cursor);
		Object.assign(state, what);
		this.makeView();
		if (this.tree !== tree) { // the same frames as before, as far as they are still there
			const same = this.rec.methodFrame, isRoot = (frame) => this.rec.frameKind[frame] === this.rec.rootKind;
			state.zoom = this.tree.findBelow(zoomed, same, isRoot);
			this.cursor = this.tree.findBelow(pointed, same, isRoot);
		}
		saveState(state, asStep);
		this.draw();
	}

	load() {
		this.state = stateFromHash(location.hash);
		this.makeView();
		this.cursor = this.state.zoom;
		this.draw();
	}

	draw() {
		const {state} = this;
		this.look.setTheme();
		this.search();
		for (const name of Object.keys(this.parts))
			byId(name).hidden = name !== state.view;
		this.controls.update();
		this.panels.update();
		this.legend.update();
		this.heat.update();
		this.parts[state.view].update();
		this.details.update();
	}

	// ---- actions of the controls ----

	zoom(node) {
		this.cursor = node;
		this.change({zoom: node, view: this.state.view === 'tree' ? 'tree' : 'graph'}, true);
		this.announce(`Zoomed to ${this.describe(this.tree, node).join(', ')}`);
	}

	select(node) {
		this.cursor = node;
		this.details.update();
		if (this.state.view === 'graph')
			this.parts.graph.update();
	}

	showMethod(frame) {
		if (frame < 0)
			return;
		this.change({view: 'callers', method: this.rec.nameOf(frame)}, true);
		this.announce(`Callers and callees of ${this.state.method}`);
	}

	reset() {
		const {zoom, term, kind, hide, from, to} = START;
		this.cursor = 0;
		this.parts.graph.foldAll();
		this.change({zoom, term, kind, hide, from, to}, true);
		this.announceSamples();
	}

	// ---- search ----

	// marks: by frame, true if it is found; null without a search.
	search() {
		const {rec, state, tree} = this, key = `${state.matchCase} ${state.term} ${rec.names.length}`;
		if (this.searched !== key) {
			this.searched = key;
			const pattern = searchPattern(state.term, state.matchCase), names = rec.names.map((name) => pattern.test(name));
			this.marks = state.term ? rec.frameName.map((name) => names[name]) : null;
		}
		this.matches = [];
		if (this.marks)
			tree.eachOutermost(this.marks, (node) => this.matches.push(node), state.zoom);
		this.marked = 0; // frames, those within others counted, too
		for (let i = state.zoom; this.marks && i < tree.end[state.zoom]; i++)
			this.marked += this.marks[tree.frame[i]] ? 1 : 0;
	}

	nextMatch(step) {
		const {matches} = this, n = matches.length;
		if (!n)
			return;
		const at = matches.indexOf(this.cursor), value = (i) => this.tree.value[i];
		const node = at < 0 ? matches.reduce((widest, i) => value(i) > value(widest) ? i : widest)
			: matches[(at + step + n) % n];
		if (this.state.view !== 'graph')
			this.change({view: 'graph'});
		this.parts.graph.moveTo(node);
	}

	// By node of the recording, true if its stack has a match; null without a search.
	nodeMarks() {
		const {rec, marks} = this;
		if (!marks)
			return null;
		const found = new Uint8Array(rec.nodeCount);
		for (let i = 1; i < rec.nodeCount; i++)
			found[i] = found[rec.nodeParent[i]] || marks[rec.nodeFrame[i]] ? 1 : 0;
		return found;
	}

	// All tables count what is within the frame that is zoomed to, and give shares of that. Shares in a
	// difference are of a whole side: its changes are.
	get within() {
		return this.state.zoom;
	}

	get wholes() {
		return this.tree.total.map((t) => t[this.rec.isDifference ? 0 : this.within]);
	}

	// ---- texts ----

	describe(tree, node) {
		const {rec, state} = this, frame = tree.frame[node], name = rec.nameOf(frame);
		if (rec.isDifference)
			return [name, `before ${shareText(tree.total[0][node], tree.total[0][0])}, after ` +
				shareText(tree.total[1][node], tree.total[1][0]), this.changeText(tree, node)];
		const total = tree.total[0], kind = frame < 0 ? '' : `${rec.kindOf(frame).label} · `;
		const texts = [name, `${kind}${samplesText(total[node])} · ${shareText(total[node], total[0])}`];
		if (tree.self[0][node] && tree.self[0][node] !== total[node])
			texts.push(`self ${shareText(tree.self[0][node], total[0])}`);
		if (tree === this.tree && state.zoom && tree.isBelow(node, state.zoom))
			texts.push(`${percentText(total[node], total[state.zoom])} of what is zoomed to`);
		return texts;
	}

	changeOf([before, after], frame) {
		const whole = this.tree.total.map((t) => t[0]);
		return {points: 100 * (after / (whole[1] || 1) - before / (whole[0] || 1)),
			score: spreadScore(changeScore(before, whole[0], after, whole[1]),
				this.rec.frameSpread[frame], this.rec.freedom)};
	}

	changeText(tree, node) {
		const {points, score} = this.changeOf(tree.total.map((t) => t[node]), tree.frame[node]);
		return `${pointsText(points)}, ${scoreText(score)}${Math.abs(score) < this.rec.certain
			? ': not significant' : ''}`;
	}

	changeClass({points, score}) {
		return Math.abs(score) < this.rec.certain ? 'dim' : points > 0 ? 'grew' : 'shrank';
	}

	swatch(frame) {
		const e = el('span', {class: 'swatch', 'aria-hidden': 'true'});
		e.style.background = this.look.frame(frame);
		return e;
	}

	// For a button.
	labelled(frame) {
		return [this.swatch(frame), el('span', {}, ...wrappable(this.rec.nameOf(frame)))];
	}

	announce(text) {
		byId('live').textContent = text;
	}

	announceSamples() {
		this.announce(`${samplesText(this.tree.samples)} shown`);
	}

	tip(event, texts) {
		const tip = byId('tip');
		tip.replaceChildren(...texts.map((text, i) => el(i ? 'div' : 'strong', {}, text)));
		tip.hidden = false;
		const {offsetWidth: w, offsetHeight: h} = tip;
		tip.style.left = `${clamp(event.clientX + 14, 4, innerWidth - w - 4)}px`;
		tip.style.top = `${event.clientY + 18 + h > innerHeight ? event.clientY - h - 10 : event.clientY + 18}px`;
	}

	hideTip() {
		byId('tip').hidden = true;
	}
}

// All modules have run by then, in any order.
addEventListener('DOMContentLoaded', () => {
	performance.mark('dfg-begin');
	const data = byId('data');
	window.dfg = new App(new Recording(JSON.parse(data.textContent)));
	data.remove();
	requestAnimationFrame(() => performance.mark('dfg-drawn'));
});
