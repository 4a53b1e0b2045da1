// SPDX-License-Identifier: Apache-2.0
// Shows what threads waited for, over time: a row for each thread, a bar for each wait, coloured by
// its cause. Selecting one shows its stack, and who woke whom.

const LANE = 16, LANE_NAME = 190, RULER = 22, CHAIN_MOST = 8, LEAST_SPAN = 1e-4;
const CAUSE_COLOURS = { // light, dark
	running: ['#2f9e44', '#40c057'], runnable: ['#f06595', '#e64980'], throttled: ['#862e9c', '#ae3ec9'],
	safepoint: ['#343a40', '#ced4da'], monitor: ['#e03131', '#ff6b6b'], park: ['#f08c00', '#ffa94d'],
	wait: ['#fab005', '#ffd43b'], sleep: ['#adb5bd', '#868e96'], socket: ['#1971c2', '#4dabf7'],
	epoll: ['#74c0fc', '#1864ab'], file: ['#846358', '#a98467'], fault: ['#7048e8', '#9775fa'],
	other: ['#ced4da', '#5c636a'],
};

class TimelineView {
	constructor(app) {
		this.app = app;
		this.wall = app.rec.wall;
		this.number = -1; // of the wait that is selected
		if (!this.wall)
			return;
		this.scroller = byId('timeline');
		this.canvas = this.scroller.querySelector('canvas');
		this.context = this.canvas.getContext('2d');
		this.paintSoon = oncePerFrame(() => this.paint());
		this.duration = this.wall.waits.reduce((last, w) => Math.max(last, w.end), 0.001);
		this.from = 0;
		this.to = this.duration;
		this.layOut();
		new ResizeObserver(() => this.update()).observe(this.scroller);
		this.scroller.addEventListener('scroll', this.paintSoon);
		this.listen();
	}

	// The threads that have most to do first; each with its waits in order of time.
	layOut() {
		const {wall, app} = this, idle = app.state.idle, lists = wall.threads.map(() => []);
		wall.waits.forEach((w, i) => (idle || !w.idle) && lists[w.thread].push(i));
		for (const list of lists)
			list.sort((a, b) => wall.waits[a].begin - wall.waits[b].begin);
		this.lanes = wall.threads.map((thread, i) => ({thread, waits: lists[i], number: i}))
			.filter(({waits, thread}) => waits.length || thread.busy > 0 && idle)
			.sort((a, b) => b.thread.busy - a.thread.busy);
		this.idle = idle;
	}

	update() {
		if (!this.wall)
			return;
		const ratio = window.devicePixelRatio || 1;
		if (this.idle !== this.app.state.idle)
			this.layOut();
		this.width = Math.max(this.scroller.clientWidth, 300);
		this.height = this.scroller.clientHeight;
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.scroller.querySelector('.sizer').style.height =
			`${Math.max(0, this.lanes.length * LANE + RULER - this.height)}px`;
		this.paintSoon();
	}

	colour(cause) {
		return CAUSE_COLOURS[this.wall.causes[cause]][this.app.look.theme === 'dark' ? 1 : 0];
	}

	x(seconds) {
		return LANE_NAME + (seconds - this.from) / (this.to - this.from) * (this.width - LANE_NAME);
	}

	time(x) {
		return this.from + (x - LANE_NAME) / (this.width - LANE_NAME) * (this.to - this.from);
	}

	// ---- painting ----

	paint() {
		const c = this.context, {look} = this.app, first = Math.floor(this.scroller.scrollTop / LANE);
		c.clearRect(0, 0, this.width, this.height);
		c.font = '11px system-ui, sans-serif';
		c.textBaseline = 'middle';
		for (let row = first; row < this.lanes.length; row++) {
			const y = RULER + row * LANE - this.scroller.scrollTop;
			if (y > this.height)
				break;
			this.paintLane(this.lanes[row], y, row);
		}
		c.fillStyle = look.colour('--back');
		c.fillRect(0, 0, this.width, RULER);
		this.paintRuler();
	}

	paintLane({thread, waits}, y, row) {
		const c = this.context, {look} = this.app;
		c.fillStyle = look.colour(row % 2 ? '--back' : '--panel');
		c.fillRect(0, y, this.width, LANE);
		for (const i of waits) {
			const w = this.wall.waits[i], x = Math.max(this.x(w.begin), LANE_NAME), end = this.x(w.end);
			if (end < LANE_NAME || x > this.width)
				continue;
			c.fillStyle = this.colour(w.cause);
			c.globalAlpha = w.idle ? 0.3 : 1;
			c.fillRect(x, y + 2, Math.max(end - x - (end - x > 3 ? 1 : 0), 1), LANE - 4);
			c.globalAlpha = 1;
			if (i === this.number) {
				c.strokeStyle = look.colour('--text');
				c.lineWidth = 2;
				c.strokeRect(x, y + 1, Math.max(end - x, 3), LANE - 2);
			}
		}
		c.fillStyle = look.colour(row % 2 ? '--back' : '--panel');
		c.fillRect(0, y, LANE_NAME - 4, LANE);
		c.fillStyle = look.colour('--text');
		c.fillText(fitted(c, thread.name, LANE_NAME - 16), 8, y + LANE / 2);
	}

	paintRuler() {
		const c = this.context, span = this.to - this.from, plot = this.width - LANE_NAME;
		const raw = span * 90 / plot, power = 10 ** Math.floor(Math.log10(raw));
		const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw);
		c.fillStyle = this.app.look.colour('--dim');
		c.fillText(`no bar: no wait of ${this.wall.least} ms`, 8, RULER / 2);
		for (let t = Math.ceil(this.from / step) * step; t < this.to; t += step) {
			const text = `${Number(t.toFixed(6))} s`;
			c.fillRect(this.x(t), RULER - 5, 1, 5);
			if (this.x(t) + 4 + c.measureText(text).width < this.width)
				c.fillText(text, this.x(t) + 4, RULER / 2);
		}
	}

	// ---- what is at a place ----

	at(event) {
		const row = Math.floor((event.offsetY - RULER + this.scroller.scrollTop) / LANE), lane = this.lanes[row];
		if (!lane || event.offsetY < RULER || event.offsetX < LANE_NAME)
			return -1;
		const t = this.time(event.offsetX), slack = this.time(event.offsetX + 2) - t, {waits} = this.wall;
		const found = lane.waits.filter((i) => waits[i].begin <= t + slack && waits[i].end >= t - slack);
		const off = (i) => Math.max(waits[i].begin - t, t - waits[i].end, 0);
		return found.length ? found.reduce((best, i) => off(i) < off(best) ? i : best) : -1;
	}

	msText(seconds) {
		return `${(1000 * seconds).toFixed(1)} ms`;
	}

	describe(i) {
		const w = this.wall.waits[i], {threads, causes} = this.wall;
		return [`${threads[w.thread].name}: ${causes[w.cause]}${w.idle ? ', idle' : ''}`,
			`${this.msText(w.end - w.begin)} from ${w.begin.toFixed(3)} s on`,
			...this.innermost(w), w.waker >= 0 ? `woken by ${threads[w.waker].name}` : ''].filter(Boolean);
	}

	// Names of its own stack and of its waker's, innermost first, and of what it waits for.
	stacks(w) {
		const {rec} = this.app, names = [];
		for (let node = w.node; node > 0; node = rec.nodeParent[node])
			names.push({name: rec.nameOf(rec.nodeFrame[node]), java: rec.isJava(rec.nodeFrame[node]),
				kind: rec.kindOf(rec.nodeFrame[node]).letter});
		const by = names.findIndex(({name}) => name === 'woken by'), own = names.slice(by + 1);
		// The outermost two are the thread and the cause.
		const subject = own.length > 2 && own[0].kind === own[own.length - 2].kind ? own.shift().name : '';
		return {own, subject, waker: names.slice(0, Math.max(by, 0)).reverse()};
	}

	innermost(w) {
		const {own, subject} = this.stacks(w), found = own.find(({java}) => java);
		return [[subject, found ? `in ${found.name}` : ''].filter(Boolean).join(' ')].filter(Boolean);
	}

	// Who woke whom: the wait, then what its waker waited for meanwhile, and so on.
	chain(first) {
		const list = [first];
		while (list.length < CHAIN_MOST) {
			const next = this.meanwhile(list.at(-1));
			if (next < 0 || list.includes(next))
				break;
			list.push(next);
		}
		return list;
	}

	// The last wait of the waker that took a tenth of this one or more; else the longest (wall.c).
	meanwhile(number) {
		const {waits} = this.wall, w = waits[number], least = (w.end - w.begin) / 10;
		let best = -1, most = 0;
		waits.forEach((other, i) => {
			const shared = Math.min(other.end, w.end) - Math.max(other.begin, w.begin), before = most > least;
			if (other.thread !== w.waker || shared <= 0 || before && shared <= least)
				return;
			if (best < 0 || (before ? other.begin > waits[best].begin : shared > most))
				[best, most] = [i, shared];
		});
		return best;
	}

	details() {
		const {wall} = this, w = wall && wall.waits[this.number];
		if (!w)
			return [el('h2', {}, 'Timeline'), el('p', {class: 'dim'},
				'Each bar is a wait. Click one to see where, and who ended it. Drag to zoom, double-click to see all.'),
			this.legend()];
		const {own, subject, waker} = this.stacks(w), stack = (names) => el('ol', {class: 'frames'},
			...names.map(({name}) => el('li', {}, el('span', {}, ...wrappable(name)))));
		const links = this.chain(this.number).map((i, k) => el('li', {}, el('button', {class: 'link',
			onclick: () => this.select(i)}, this.sentence(i, k))));
		return [el('h2', {}, ...wrappable(`${wall.threads[w.thread].name}: ${wall.causes[w.cause]} ${subject}`)),
			el('p', {class: 'dim'}, `${this.msText(w.end - w.begin)} from ${w.begin.toFixed(6)} s on`),
			el('p', {class: 'actions'}, copyButton('Copy stack', () => own.map(({name}) => name).join('\n'))),
			...links.length > 1 || w.waker >= 0 ? [el('h3', {}, 'Who woke whom'), el('ol', {class: 'frames'}, ...links)] : [],
			el('h3', {}, 'Its stack'), stack(own),
			...waker.length ? [el('h3', {}, 'The stack of who woke it'), stack(waker)] : []];
	}

	sentence(i, k) {
		const {threads, causes, waits} = this.wall, w = waits[i], method = this.innermost(w)[0] || '';
		const woken = w.waker >= 0 ? `, woken by ${threads[w.waker].name}` : '';
		return `${k ? 'which before waited: ' : ''}${threads[w.thread].name}, ${causes[w.cause]} ${
			this.msText(w.end - w.begin)} ${method}${woken}`;
	}

	legend() {
		const used = new Set(this.wall ? this.wall.waits.map((w) => w.cause) : []);
		return el('ul', {class: 'frames'}, ...[...used].sort((a, b) => a - b).map((cause) => {
			const swatch = el('span', {class: 'swatch', 'aria-hidden': 'true'});
			swatch.style.background = this.colour(cause);
			return el('li', {}, el('span', {}, swatch, this.wall.causes[cause]));
		}));
	}

	// ---- actions ----

	select(i) {
		this.number = i;
		if (i >= 0) {
			const w = this.wall.waits[i], row = this.lanes.findIndex((lane) => lane.number === w.thread);
			const y = row * LANE, {scrollTop} = this.scroller;
			if (y < scrollTop || y + LANE + RULER > scrollTop + this.height)
				this.scroller.scrollTop = Math.max(0, y - this.height / 2);
			if (w.end < this.from || w.begin > this.to)
				this.zoomTo(w.begin - (this.to - this.from) / 2, w.begin + (this.to - this.from) / 2);
			this.app.announce(this.describe(i).join(', '));
		}
		this.app.details.update();
		this.paintSoon();
	}

	zoomTo(from, to) {
		const span = clamp(to - from, LEAST_SPAN, this.duration);
		this.from = clamp(from, 0, this.duration - span);
		this.to = this.from + span;
		this.paintSoon();
	}

	zoomBy(factor, around) {
		this.zoomTo(around - (around - this.from) * factor, around + (this.to - around) * factor);
	}

	listen() {
		const {canvas, app} = this;
		canvas.addEventListener('pointerdown', (event) => {
			this.anchor = event.offsetX;
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => {
			const i = this.at(event);
			canvas.style.cursor = i >= 0 ? 'pointer' : 'default';
			if (i >= 0)
				app.tip(event, this.describe(i));
			else
				app.hideTip();
		});
		canvas.addEventListener('pointerup', (event) => {
			const from = this.anchor;
			this.anchor = undefined;
			if (from !== undefined && Math.abs(event.offsetX - from) > 4)
				this.zoomTo(...[this.time(from), this.time(event.offsetX)].sort((a, b) => a - b));
			else
				this.select(this.at(event));
		});
		canvas.addEventListener('dblclick', () => this.zoomTo(0, this.duration));
		canvas.addEventListener('pointerleave', () => app.hideTip());
		canvas.addEventListener('wheel', (event) => {
			if (!event.ctrlKey)
				return;
			this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
			event.preventDefault();
		}, {passive: false});
		canvas.addEventListener('keydown', (event) => this.key(event));
	}

	key(event) {
		const w = this.wall.waits[this.number], middle = w ? (w.begin + w.end) / 2 : (this.from + this.to) / 2;
		const actions = {'+': () => this.zoomBy(0.5, middle), '-': () => this.zoomBy(2, middle),
			Home: () => this.zoomTo(0, this.duration), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
			ArrowUp: () => this.lane(-1, middle), ArrowDown: () => this.lane(1, middle)};
		if (!actions[event.key] || event.ctrlKey || event.altKey)
			return;
		actions[event.key]();
		event.preventDefault();
	}

	row() {
		const w = this.wall.waits[this.number];
		return w ? this.lanes.findIndex((lane) => lane.number === w.thread) : -1;
	}

	step(by) {
		const row = this.row(), lane = this.lanes[Math.max(row, 0)];
		if (lane && lane.waits.length)
			this.select(row < 0 ? lane.waits[0]
				: lane.waits[clamp(lane.waits.indexOf(this.number) + by, 0, lane.waits.length - 1)]);
	}

	// The wait of the next thread that is nearest in time.
	lane(by, time) {
		const {waits} = this.wall, off = (i) => Math.max(waits[i].begin - time, time - waits[i].end, 0);
		for (let row = this.row() + by; row >= 0 && row < this.lanes.length; row += by)
			if (this.lanes[row].waits.length) {
				this.select(this.lanes[row].waits.reduce((best, i) => off(i) < off(best) ? i : best));
				return;
			}
	}
}

// A text cut to a width.
function fitted(context, text, width) {
	let n = text.length;
	while (n > 1 && context.measureText(n < text.length ? `${text.slice(0, n)}…` : text).width > width)
		n--;
	return n < text.length ? `${text.slice(0, n)}…` : text;
}
