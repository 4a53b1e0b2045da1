// SPDX-License-Identifier: Apache-2.0
// Colours. A frame's own is in the data, the same as in the SVG.

const HIT = '#ee5aee';
const HEAT = { // from none to most
	light: [[241, 243, 245], [255, 224, 150], [250, 140, 50], [176, 18, 30]],
	dark: [[34, 39, 46], [96, 52, 24], [226, 112, 34], [255, 230, 120]],
};

const CHANGES = { // from the least to the greatest; svg.c has the same
	grew: [[250, 224, 216], [240, 96, 72]],
	shrank: [[216, 228, 250], [92, 148, 245]],
	same: [[214, 216, 220], [214, 216, 220]],
};

function between(stops, share) {
	const at = clamp(share, 0, 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
	return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i))).join()})`;
}

class Look {
	constructor(app) {
		this.app = app;
		this.system = matchMedia('(prefers-color-scheme: dark)');
		this.system.addEventListener('change', () => app.draw());
		this.setTheme();
	}

	setTheme() {
		this.theme = this.app.state.theme || (this.system.matches ? 'dark' : 'light');
		if (document.documentElement.dataset.theme === this.theme)
			return;
		document.documentElement.dataset.theme = this.theme;
		this.variables = new Map();
		this.frames = [];
		this.changes = new WeakMap();
	}

	// A variable of the style sheet.
	colour(name) {
		if (!this.variables.has(name))
			this.variables.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
		return this.variables.get(name);
	}

	frame(frame) {
		const {rec} = this.app;
		if (this.frames[frame] === undefined)
			this.frames[frame] = cssColour(frame < 0 ? rec.kindOf(frame).colour
				: rec.frameColour[frame], this.theme === 'dark');
		return this.frames[frame];
	}

	heat(share) {
		return between(HEAT[this.theme], share ? 0.15 + 0.85 * share : 0);
	}

	// Red: its share grew; blue: it shrank; stronger for more. Changes that are not significant are grey.
	change(tree, node) {
		const points = (i) => this.app.changeOf(tree.total.map((t) => t[i]), tree.frame[i]);
		if (!this.changes.has(tree)) {
			let most = 0;
			for (let i = 1; i < tree.count; i++)
				most = Math.max(most, Math.abs(points(i).points));
			this.changes.set(tree, most || 1);
		}
		const {points: p, score} = points(node);
		const side = Math.abs(score) < this.app.rec.certain ? 'same' : p > 0 ? 'grew' : 'shrank';
		return this.changeColour(side, Math.sqrt(Math.abs(p) / this.changes.get(tree)));
	}

	changeColour(side, size) {
		const light = this.theme === 'dark' ? 0.86 : 1;
		return between(CHANGES[side].map((stop) => stop.map((c) => c * light)), size);
	}

	// ---- the interface Flame calls ----

	fill(tree, node) {
		const {marks, rec} = this.app, frame = tree.frame[node];
		if (marks && marks[frame])
			return HIT;
		return rec.isDifference && node ? this.change(tree, node) : this.frame(frame);
	}

	// A folded chain has no kind of its own; in a difference it has the change of its first frame.
	foldFill(tree, nodes) {
		const {marks, rec} = this.app;
		if (marks && nodes.some((i) => marks[tree.frame[i]]))
			return HIT;
		return rec.isDifference ? this.change(tree, nodes[0]) : this.colour('--chain');
	}

	// Callers of the zoomed frame; all but the chosen kind.
	faded(tree, node) {
		const {state, marks, rec} = this.app;
		if (tree === this.app.tree && state.zoom > node && state.zoom < tree.end[node])
			return true;
		return state.kind !== '' && !(marks && marks[tree.frame[node]]) &&
			rec.kindOf(tree.frame[node]).letter !== state.kind;
	}

	label(frame) {
		return this.app.rec.nameOf(frame);
	}

	isJava(frame) {
		return this.app.rec.isJava(frame);
	}
}
