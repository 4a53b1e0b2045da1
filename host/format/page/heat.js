// SPDX-License-Identifier: Apache-2.0
// Shows the times of the samples, or of waits: columns of time, in each its parts from the bottom up, darker
// with more samples, or more time that was waited. A short or sparse recording is a row of bars instead. Dragging selects the
// span that the rest of the page shows.

const COLUMN_SECONDS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];
const STRIP_HEIGHT = 12, AXIS_HEIGHT = 18, SCALE_STEPS = 5;
const PARTS = [25, 20, 10, 5], CELL_SAMPLES = 1, COLUMN_LEAST = 9, CELL_HEIGHT = 3;

class Heat {
	constructor(app) {
		this.app = app;
		this.section = byId('heat');
		this.section.hidden = !app.rec.duration;
		if (this.section.hidden)
			return;
		this.canvas = this.section.querySelector('canvas');
		this.context = this.canvas.getContext('2d');
		this.fromField = byId('from');
		this.toField = byId('to');
		this.cursor = 0;
		this.paintSoon = oncePerFrame(() => this.paint());
		new ResizeObserver(() => this.update()).observe(this.canvas.parentNode);
		this.listen();
	}

	// The grid for this width.
	layOut() {
		const {samples, wall, duration} = this.app.rec, seconds = Math.max(duration, 0.05);
		this.strip = this.app.state.folded.includes('t'); // folded: no axis, a colour for each column
		this.height = this.strip ? STRIP_HEIGHT : innerHeight < LOW_WINDOW ? 66 : 100;
		this.plot = this.height - (this.strip ? 0 : AXIS_HEIGHT);
		this.width = Math.max(this.canvas.parentNode.clientWidth, 100);
		const most = this.width / COLUMN_LEAST;
		this.column = COLUMN_SECONDS.find((s) => seconds / s <= most) || seconds / most;
		this.columns = Math.floor(seconds / this.column) + 1;
		const parts = (samples ? samples.count : wall.waits.length) / this.columns / CELL_SAMPLES;
		this.parts = PARTS.find((n) => n <= parts && n * CELL_HEIGHT <= this.plot) || 1;
		this.cell = this.column / this.parts;
		this.cells = this.columns * this.parts;
		this.cellWidth = this.width / this.columns;
	}

	// Samples by cell; during a search, those whose stacks match.
	count() {
		const {samples, wall} = this.app.rec, wanted = this.app.nodeMarks();
		this.counts = new Float64Array(this.cells);
		for (let i = 0; samples && i < samples.count; i++)
			if (!wanted || wanted[samples.node[i]])
				this.counts[Math.min(Math.floor(samples.time[i] / this.cell + 1e-9), this.cells - 1)]++;
		for (const w of samples ? [] : wall.waits)
			if ((!wanted || wanted[w.node]) && (this.app.state.idle || !w.idle))
				this.addWait(w);
		this.most = this.counts.reduce((most, n) => Math.max(most, n), 3); // few are no heat
	}

	// Adds the ns that were waited within each cell.
	addWait({begin, end}) {
		for (let i = Math.floor(begin / this.cell); i < this.cells && i * this.cell < end; i++)
			this.counts[i] += 1e9 * (Math.min(end, (i + 1) * this.cell) - Math.max(begin, i * this.cell));
	}

	update() {
		if (this.section.hidden)
			return;
		const {state, rec} = this.app, hasSpan = state.to > state.from, ratio = window.devicePixelRatio || 1;
		this.layOut();
		this.count();
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.span = hasSpan ? [state.from, state.to] : null;
		this.fromField.value = this.text(hasSpan ? state.from : 0);
		this.toField.value = this.text(hasSpan ? state.to : rec.duration);
		byId('all-time').hidden = !hasSpan;
		this.section.querySelector('.about').textContent = this.parts > 1
			? `columns of ${this.text(this.column)} s, cells of ${this.text(1000 * this.cell)} ms`
			: `bars of ${this.text(this.column)} s`;
		this.showScale();
		byId('since').textContent = rec.origins.length > 1 ? 'its recording began' : 'the recording began';
		this.paintSoon();
	}

	// The colours, from no sample to most in a cell.
	showScale() {
		const swatch = (i) => {
			const e = el('i', {'aria-hidden': 'true'});
			e.style.background = this.app.look.heat(i / SCALE_STEPS);
			return e;
		};
		byId('scale').hidden = this.parts === 1;
		byId('scale').replaceChildren('0', ...Array.from({length: SCALE_STEPS + 1}, (_, i) => swatch(i)),
			`${samplesText(this.most)} a cell`);
	}

	// The time of day that recording began at is known to the second.
	clock(seconds) {
		const {origins} = this.app.rec, began = origins.length === 1 ? Date.parse(origins[0].started) : NaN;
		return Number.isNaN(began) ? '' : `about ${
			new Date(began + 1000 * seconds).toISOString().slice(11, 19)} UTC`;
	}

	text(seconds) {
		return String(Number(seconds.toFixed(3)));
	}

	paint() {
		const c = this.context, {look} = this.app, {plot} = this;
		c.clearRect(0, 0, this.width, this.height);
		for (let i = 0; i < this.cells; i++) {
			const inside = !this.span || (i + 0.5) * this.cell >= this.span[0] &&
				(i + 0.5) * this.cell < this.span[1];
			const x = Math.floor(i / this.parts) * this.cellWidth, part = i % this.parts;
			const share = this.counts[i] / this.most, gap = this.cellWidth > 4 ? 1 : 0;
			c.globalAlpha = inside ? 1 : 0.22;
			if (this.parts > 1 || this.strip) {
				c.fillStyle = look.heat(share);
				c.fillRect(x, plot - (part + 1) * plot / this.parts, this.cellWidth - gap,
					plot / this.parts - (plot / this.parts > 5 ? 1 : 0));
			} else {
				c.fillStyle = look.heat(0);
				c.fillRect(x, 0, this.cellWidth - gap, plot);
				c.fillStyle = look.colour('--accent');
				c.fillRect(x, plot - share * plot, this.cellWidth - gap, share * plot);
			}
		}
		c.globalAlpha = 1;
		if (!this.strip)
			this.paintAxis(plot);
		if (document.activeElement === this.canvas)
			this.paintCursor(plot);
	}

	paintAxis(plot) {
		const c = this.context, step = COLUMN_SECONDS.find((s) => s / this.column * this.cellWidth >= 60) || 3600;
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = this.app.look.colour('--dim');
		c.textBaseline = 'alphabetic';
		for (let k = 0; k * step < this.columns * this.column; k++) {
			const x = k * step / this.column * this.cellWidth;
			c.fillRect(x, plot, 1, 4);
			if (x < this.width - 30)
				c.fillText(`${this.text(k * step)} s`, x + 3, this.height - 4);
		}
	}

	paintCursor(plot) {
		const c = this.context, part = this.cursor % this.parts, h = plot / this.parts;
		c.strokeStyle = this.app.look.colour('--text');
		c.lineWidth = 2;
		c.strokeRect(Math.floor(this.cursor / this.parts) * this.cellWidth, plot - (part + 1) * h,
			this.cellWidth, h);
	}

	cellAt(event) {
		const column = clamp(Math.floor(event.offsetX / this.cellWidth), 0, this.columns - 1);
		const {plot} = this, part = Math.floor((plot - event.offsetY) / plot * this.parts);
		return column * this.parts + clamp(part, 0, this.parts - 1);
	}

	spanOf(a, b) {
		return [Math.min(a, b) * this.cell, (Math.max(a, b) + 1) * this.cell];
	}

	choose([from, to]) {
		const round = (t) => Number(t.toFixed(4));
		this.app.change(to > from ? {from: round(from), to: round(to)} : {from: 0, to: 0}, true);
		this.app.announceSamples();
	}

	listen() {
		const {canvas, app} = this;
		canvas.addEventListener('pointerdown', (event) => {
			this.anchor = this.cursor = this.cellAt(event);
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => this.point(event));
		canvas.addEventListener('pointerup', (event) => {
			if (this.anchor === undefined)
				return;
			const at = this.cellAt(event), click = at === this.anchor;
			const span = this.spanOf(this.anchor, at);
			this.anchor = undefined;
			this.choose(click ? this.spanOf(at - at % this.parts, at - at % this.parts + this.parts - 1) : span);
		});
		canvas.addEventListener('pointerleave', () => app.hideTip());
		for (const kind of ['focus', 'blur'])
			canvas.addEventListener(kind, this.paintSoon);
		canvas.addEventListener('keydown', (event) => this.key(event));
		for (const field of [this.fromField, this.toField])
			field.addEventListener('change', () =>
				this.choose([Number(this.fromField.value), Number(this.toField.value)].sort((a, b) => a - b)));
		byId('all-time').addEventListener('click', () => this.choose([0, 0]));
	}

	point(event) {
		const at = this.cellAt(event);
		if (this.anchor !== undefined) {
			this.span = this.spanOf(this.anchor, at);
			this.paintSoon();
		}
		this.app.tip(event, this.describe(at));
	}

	describe(cell) {
		return [`${this.text(cell * this.cell)} s to ${this.text((cell + 1) * this.cell)} s`,
			this.clock(cell * this.cell), samplesText(this.counts[cell])].filter(Boolean);
	}

	// Arrows move by cells; with Shift they extend the span, Enter applies it.
	key(event) {
		const steps = {ArrowRight: this.parts, ArrowLeft: -this.parts, ArrowUp: this.parts > 1 ? 1 : 0,
			ArrowDown: this.parts > 1 ? -1 : 0, Home: -this.cells, End: this.cells}[event.key];
		if (event.key === 'Enter' || event.key === ' ') {
			const anchor = this.keyAnchor === undefined ? this.cursor : this.keyAnchor;
			this.keyAnchor = undefined;
			this.choose(this.spanOf(anchor, this.cursor));
		} else if (steps !== undefined) {
			if (event.shiftKey && this.keyAnchor === undefined)
				this.keyAnchor = this.cursor;
			else if (!event.shiftKey)
				this.keyAnchor = undefined;
			this.cursor = clamp(this.cursor + steps, 0, this.cells - 1);
			if (this.keyAnchor !== undefined)
				this.span = this.spanOf(this.keyAnchor, this.cursor);
			this.app.announce(this.describe(this.cursor).join(', '));
			this.paintSoon();
		} else {
			return;
		}
		event.preventDefault();
	}
}
