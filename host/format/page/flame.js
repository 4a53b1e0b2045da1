// SPDX-License-Identifier: Apache-2.0
// Draws trees as boxes on a canvas: layout, painting, and finding the node at a point. The canvas
// is as large as its window; only the visible part is painted.

const ROW = 18, PAD = 4, NARROW = 0.3, LEAST_COLUMNS = 3;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

const columnsOf = (text) => {
	let n = 0;
	for (const c of text)
		n += c.codePointAt(0) >= 0x1100 ? 2 : 1;
	return n;
};

// The part of a name that fits into so many columns: all, or from the class on, or a prefix of
// that.
function fitName(name, isJava, columns) {
	if (columns < LEAST_COLUMNS)
		return '';
	if (columnsOf(name) <= columns)
		return name;
	if (isJava)
		name = name.replace(/^(?:[a-z][^./:(]*[./](?=[^./:(]*[./:]))+/, '');
	if (columnsOf(name) <= columns)
		return name;
	let text = '', left = columns - 1;
	for (const c of name) {
		left -= columnsOf(c);
		if (left < 0)
			break;
		text += c;
	}
	return columns > LEAST_COLUMNS ? `${text}…` : '';
}

// One tree in the picture. Depth d is in row `first + d`, or with up in row `first - d`; from and
// width are the visible part, in the tree's units. folding: of its chains (fold.js), or null.
class Layer {
	constructor(tree, first, up, folding = null) {
		Object.assign(this, {tree, first, up, folding, from: 0, width: tree.value[0] || 1});
		this.depth = folding ? folding.row : tree.depth; // by node
		this.rows = folding ? folding.rows : tree.rows;
	}

	row(node) {
		return this.up ? this.first - this.depth[node] : this.first + this.depth[node];
	}

	// The number of frames that the node's box stands for; 0: for itself.
	folded(node) {
		return this.folding ? this.folding.size(node) : 0;
	}

	hides(node) {
		return this.folding !== null && this.folding.isInside(node);
	}
}

class Flame {
	// look: {fill(tree, node), foldFill(tree, nodes), faded(tree, node), label(frame), isJava(frame),
	// colour(name)}
	constructor(scroller, look) {
		this.scroller = scroller;
		this.look = look;
		this.canvas = scroller.querySelector('canvas');
		this.sizer = scroller.querySelector('.sizer');
		this.context = this.canvas.getContext('2d');
		this.layers = [];
		this.rows = 0;
		this.hover = this.cursor = null; // {layer, node}
		this.paintSoon = oncePerFrame(() => this.paint());
		scroller.addEventListener('scroll', this.paintSoon);
		new ResizeObserver(() => this.resize()).observe(scroller);
	}

	show(layers, rows) {
		this.layers = layers;
		this.rows = rows;
		this.hover = null;
		this.resize();
	}

	resize() {
		const ratio = window.devicePixelRatio || 1;
		this.width = this.scroller.clientWidth;
		this.height = this.scroller.clientHeight;
		const w = Math.round(this.width * ratio), h = Math.round(this.height * ratio);
		if (this.canvas.width !== w || this.canvas.height !== h) {
			this.canvas.width = w;
			this.canvas.height = h;
			this.canvas.style.width = `${this.width}px`;
			this.canvas.style.height = `${this.height}px`;
		}
		this.sizer.style.height = `${Math.max(0, this.rows * ROW + 2 - this.height)}px`;
		this.ratio = ratio;
		this.paintSoon();
	}

	// A picture lower than its window is aligned to the side of its root.
	get top() {
		const spare = this.height - this.rows * ROW - 1;
		return spare > 0 ? this.layers.length === 1 && this.layers[0].up ? spare : 0
			: -this.scroller.scrollTop;
	}

	box(layer, node) {
		const {tree} = layer, scale = this.width / layer.width;
		return {x: (tree.start[node] - layer.from) * scale, w: tree.value[node] * scale,
			y: this.top + layer.row(node) * ROW};
	}

	paint() {
		const c = this.context;
		c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		c.clearRect(0, 0, this.width, this.height);
		c.font = FONT;
		c.textBaseline = 'middle';
		this.letter = c.measureText('m'.repeat(100)).width / 100;
		for (const layer of this.layers)
			this.paintLayer(layer);
		this.outline(this.hover, this.look.colour('--text'), 1);
		this.outline(this.cursor, this.look.colour('--accent'), 2);
	}

	// Skips boxes that are too narrow, with their subtrees; of boxes within one pixel of a row, the
	// first is painted.
	paintLayer(layer) {
		const {tree} = layer, scale = this.width / layer.width, {top, width, height} = this;
		const painted = new Float64Array(layer.rows).fill(-1), {start, value, end} = tree, {depth} = layer;
		const labels = [];
		for (let i = 0; i < tree.count;) {
			const x = (start[i] - layer.from) * scale, w = value[i] * scale;
			if (w < NARROW || x >= width || x + w <= 0) {
				i = end[i];
				continue;
			}
			const y = top + layer.row(i) * ROW;
			if (layer.up ? y <= -ROW : y >= height) {
				i = end[i];
				continue;
			}
			if (y > -ROW && y < height && !layer.hides(i) && (w >= 1 || Math.floor(x) > painted[depth[i]])) {
				painted[depth[i]] = Math.floor(x);
				this.paintBox(layer, i, x, y, w, labels);
			}
			i++;
		}
		this.paintLabels(layer, labels);
	}

	paintBox(layer, node, x, y, w, labels) {
		const c = this.context, left = Math.max(x, 0), right = Math.min(x + w, this.width);
		const gap = w > 3 ? 0.5 : 0, faded = this.look.faded(layer.tree, node);
		c.globalAlpha = faded ? 0.25 : 1;
		c.fillStyle = layer.folded(node) ? this.look.foldFill(layer.tree, layer.folding.chain(node))
			: this.look.fill(layer.tree, node);
		c.fillRect(left, y + 1, Math.max(right - left - gap, 0.6), ROW - 1);
		if (right - left >= 2 * PAD + LEAST_COLUMNS * this.letter)
			labels.push(node, left, right - left, y, faded);
	}

	// Paints text after all boxes: changing font and colour for each is slower than the text.
	paintLabels(layer, labels) {
		const c = this.context, dim = this.look.colour('--text'), {tree} = layer;
		for (let i = 0; i < labels.length; i += 5) {
			const frame = tree.frame[labels[i]], folded = layer.folded(labels[i]);
			const text = fitName(folded ? `… ${folded} frames` : this.look.label(frame),
				!folded && this.look.isJava(frame),
				Math.floor((labels[i + 2] - 2 * PAD) / this.letter));
			c.globalAlpha = labels[i + 4] ? 0.6 : 1;
			c.fillStyle = labels[i + 4] ? dim : '#000';
			c.fillText(text, labels[i + 1] + PAD, labels[i + 3] + ROW / 2 + 1);
		}
		c.globalAlpha = 1;
	}

	outline(what, colour, width) {
		if (!what)
			return;
		const {x, y, w} = this.box(what.layer, what.node), c = this.context;
		const left = Math.max(x, 0), right = Math.min(x + w, this.width);
		if (right <= left - 1)
			return;
		c.strokeStyle = colour;
		c.lineWidth = width;
		c.strokeRect(left + width / 2, y + 1 + width / 2, Math.max(right - left - width, 1),
			ROW - 1 - width);
	}

	// {layer, node} at a point of the canvas, or null.
	at(x, y) {
		const row = Math.floor((y - this.top) / ROW);
		for (const layer of this.layers) {
			const {tree} = layer, depth = layer.up ? layer.first - row : row - layer.first;
			const value = layer.from + x / this.width * layer.width;
			if (depth < 0 || depth >= layer.rows || value < tree.start[0] || value >= tree.value[0])
				continue;
			let node = 0;
			while (node !== undefined && layer.depth[node] < depth)
				node = tree.children(node).find((i) =>
					value >= tree.start[i] && value < tree.start[i] + tree.value[i]);
			if (node !== undefined)
				return {layer, node};
		}
		return null;
	}

	// Scrolls to the node's row.
	reveal({layer, node}) {
		const y = layer.row(node) * ROW, {scroller} = this;
		if (y < scroller.scrollTop || y + ROW > scroller.scrollTop + this.height)
			scroller.scrollTop = y - this.height / 2;
	}

	// Moves the layer's window to the node: at once, or in a few frames.
	zoomTo(layer, node, animate) {
		const from = layer.from, width = layer.width, {tree} = layer;
		const toFrom = tree.start[node], toWidth = tree.value[node] || 1, began = performance.now();
		this.zooming = {};
		const mine = this.zooming;
		const step = (now) => {
			if (mine !== this.zooming)
				return;
			const t = animate ? clamp((now - began) / 220, 0, 1) : 1, eased = 1 - (1 - t) ** 3;
			layer.from = from + (toFrom - from) * eased;
			layer.width = width + (toWidth - width) * eased;
			this.paint();
			if (t < 1)
				requestAnimationFrame(step);
			else
				this.zooming = null;
		};
		step(began);
	}
}
