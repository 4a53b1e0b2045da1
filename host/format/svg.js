// SPDX-License-Identifier: Apache-2.0
// Makes the picture interactive: zoom, search, filter, details. Sets texts as textContent only, and
// keeps all state in the URL's fragment: #z=FRAME&s=TERM&mc=1&icicle=1&k=KIND&w=SIDE.
const MARGIN = 10, LINE = 18, ROW = 16, BOTTOM = 52, PAD = 3, NARROWEST = 0.1, LEAST_WIDTH = 480;
const LEAST = 3, LEAST_CUT = 5;
const NS = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
const script = document.currentScript;
const svg = script && script.ownerSVGElement || document.documentElement;
const one = (selector) => svg.querySelector(selector);
// The lines of the verdict are between the subtitle and the legend.
const verdict = [...svg.querySelectorAll('.verdict')], LEGEND = 58 + verdict.length * LINE, TOP = LEGEND + 26;
const frames = one('.frames'), details = one('.details'), quality = one('.quality');
const labels = {j: 'Java', i: 'Java, inlined', p: 'Java, interpreted', v: 'JVM', n: 'Native',
	k: 'Kernel', s: 'Stub', u: 'Unknown', m: 'grew', l: 'shrank', c: 'not significant'};

function make(parent, name, attributes, text) {
	const e = document.createElementNS(NS, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	return parent.appendChild(e);
}

// ---- the frames of the file ----

const number = (text) => Number(text.replace(/,/g, ''));

let unit = 'samples'; // or what else the file counts

// "NAME (3 samples, 1%)", or of a difference "NAME (3 → 5 samples, 1 → 2 %, +1 %; self +0 %)". Of
// bytes and ns, which the title has in three digits, `exact` has all: "bytes 3221225472" or two.
function readTitle(title, exact) {
	const m = /^([^]*) \(([\d,.]+)(?: ([^ ,]+))?(?: → ([\d,.]+) ([^ ,]+))?, ([^()]*)\)$/.exec(title);
	const [own, ...counts] = exact ? exact.split(' ') : [m[5] || m[3], m[2], m[4]];
	unit = own === 'sample' ? 'samples' : own;
	if (m[4] === undefined)
		return {name: m[1], n: number(counts[0])};
	return {name: m[1], before: number(counts[0]), after: number(counts[1]), changes: m[6]};
}

// A frame of the file. Its subtree is the boxes up to `end`: they are in preorder.
function readBox(g, index, bottom) {
	const rect = g.querySelector('rect');
	return {...readTitle(g.querySelector('title').textContent, rect.getAttribute('data-n')),
		g, rect, index, text: g.querySelector('text'), kind: g.getAttribute('class'),
		left: Number(rect.getAttribute('x')),
		depth: Math.round((bottom - Number(rect.getAttribute('y'))) / ROW) - 1,
		up: -1, end: index + 1, hit: false};
}

// The width of a frame of a difference: one side's share, or both. The whole is 2.
function weight(b, all, width) {
	const before = all.before ? b.before / all.before : 0, after = all.after ? b.after / all.after : 0;
	return width === 'before' ? 2 * before : width === 'after' ? 2 * after : before + after;
}

function readBoxes() {
	const list = [...frames.children];
	const bottom = list.length ? Number(list[0].querySelector('rect').getAttribute('y')) + ROW : 0;
	const all = list.map((g, i) => readBox(g, i, bottom));
	const inner = Number(svg.getAttribute('width')) - 2 * MARGIN, path = [];
	for (const b of all) {
		if (b.changes)
			b.n = weight(b, all[0], 'both');
		b.start = (b.left - MARGIN) / inner * all[0].n;
		path[b.depth] = b;
		b.up = b.depth ? path[b.depth - 1].index : -1;
	}
	for (let i = all.length - 1; i > 0; i--) {
		const parent = all[all[i].up];
		parent.end = Math.max(parent.end, all[i].end);
	}
	return all;
}

const boxes = readBoxes();
const boxOf = new Map(boxes.map((b) => [b.g, b]));
const isDifference = boxes.length > 0 && boxes[0].changes !== undefined;
const rows = boxes.reduce((most, b) => Math.max(most, b.depth + 1), 0);
const rowsHeight = quality.getAttribute('y') - 40 - TOP;
const fullText = new Map([...svg.querySelectorAll('.title, .subtitle, .verdict, .quality')]
	.map((e) => [e, e.textContent]));

const state = {zoom: 0, term: '', matchCase: false, icicle: false, kind: '', width: 'both'};
let width = 1200, top = TOP, letter = 7.23;

// ---- layout ----

// The part of the name that fits into so many columns; text.c and svg.c do the same.
function columnsOf(text) {
	let n = 0;
	for (const c of text)
		n += c.codePointAt(0) >= 0x1100 ? 2 : 1;
	return n;
}

function label(b, columns) {
	let name = b.name;
	if (columns < LEAST)
		return '';
	if (columnsOf(name) <= columns)
		return name;
	if ('jipmlc'.includes(b.kind))
		name = name.replace(/^(?:[a-z][^./:(]*[./](?=[^./:(]*[./:]))+/, '');
	if (columnsOf(name) <= columns)
		return name;
	if (columns < LEAST_CUT)
		return '';
	let text = '', left = columns - 2;
	for (const c of name) {
		left -= columnsOf(c);
		if (left < 0)
			break;
		text += c;
	}
	return text + '..';
}

function place(b, x, w) {
	const y = state.icicle ? top + b.depth * ROW : top + rowsHeight - (b.depth + 1) * ROW;
	const text = label(b, Math.floor((w - 2 * PAD) / letter));
	b.g.removeAttribute('display');
	b.rect.setAttribute('x', x.toFixed(2));
	b.rect.setAttribute('y', y);
	b.rect.setAttribute('width', (w < 3 ? w : w - 0.5).toFixed(2));
	if (!b.text && text)
		b.text = make(b.g, 'text', {});
	if (!b.text)
		return;
	b.text.setAttribute('x', (x + PAD).toFixed(1));
	b.text.setAttribute('y', y + 12);
	if (b.text.textContent !== text)
		b.text.textContent = text;
}

// Children that the file leaves out are at the right end of a frame.
function weigh() {
	const ends = [];
	for (const b of boxes) {
		b.n = weight(b, boxes[0], state.width);
		b.start = b.depth ? ends[b.depth] : 0;
		ends[b.depth] = b.start + b.n;
		ends[b.depth + 1] = b.start;
	}
}

function drawFrames() {
	if (!boxes.length)
		return;
	const zoomed = boxes[state.zoom], inner = width - 2 * MARGIN, scale = inner / zoomed.n;
	for (const b of boxes) {
		const below = b.index < zoomed.index && b.end >= zoomed.end;
		const inside = b.index >= zoomed.index && b.index < zoomed.end;
		const w = below ? inner : Math.min(b.n * scale, inner);
		let look = b.kind;
		if (!below && !(inside && w >= NARROWEST)) {
			b.g.setAttribute('display', 'none');
			continue;
		}
		place(b, below ? MARGIN : MARGIN + (b.start - zoomed.start) * scale, w);
		if (below)
			look += ' below';
		if (b.hit && state.term)
			look += ' hit';
		else if (!b.hit && state.kind && !state.term)
			look += ' faded';
		if (b.g.getAttribute('class') !== look)
			b.g.setAttribute('class', look);
	}
}

function shorten(e, room) {
	const text = fullText.get(e);
	e.textContent = text;
	const length = e.getComputedTextLength();
	if (length > room)
		e.textContent = text.slice(0, Math.max(0, Math.floor(text.length * room / length) - 2)) + '..';
}

// Breaks the legend into the lines that the window's width needs; the frames begin below.
function drawLegend() {
	let x = MARGIN, y = LEGEND;
	for (const key of svg.querySelectorAll('.key')) {
		const text = key.querySelector('text'), rect = key.querySelector('rect');
		const room = 17 + text.getComputedTextLength();
		if (x > MARGIN && x + room > width - MARGIN) {
			x = MARGIN;
			y += 18;
		}
		rect.setAttribute('x', x);
		rect.setAttribute('y', y);
		text.setAttribute('x', x + 17);
		text.setAttribute('y', y + 10);
		key.classList.toggle('on', key.classList[1] === state.kind);
		x += room + 18;
	}
	top = TOP + y - LEGEND;
}

function drawAround() {
	const room = isDocument ? svg.clientWidth || window.innerWidth : svg.parentNode.clientWidth;
	width = Math.max(LEAST_WIDTH, room || 1200);
	drawLegend();
	const bottom = top + rowsHeight, height = bottom + BOTTOM, empty = one('.empty');
	svg.setAttribute('width', width);
	svg.setAttribute('height', height);
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	details.setAttribute('y', bottom + 20);
	quality.setAttribute('y', bottom + 40);
	if (empty)
		empty.setAttribute('x', width / 2);
	const buttonsLeft = drawButtons();
	shorten(one('.title'), buttonsLeft - 2 * MARGIN);
	shorten(one('.subtitle'), buttonsLeft - 2 * MARGIN);
	for (const line of [...verdict, quality])
		shorten(line, width - 2 * MARGIN);
	field.setAttribute('x', width - MARGIN - 280);
	head.firstChild.setAttribute('height', top - 4);
	foot.firstChild.setAttribute('y', bottom + 4);
	foot.firstChild.setAttribute('height', BOTTOM - 4);
	pin();
}

// ---- search ----

// The rules of page/search.js.
function pattern() {
	const {term} = state, flags = state.matchCase || /\p{Lu}/u.test(term.replace(/\\./g, '')) ? '' : 'i';
	const either = (text) => text === '/' ? '[./]' : text === '#' ? '[.#]' : text;
	try {
		return new RegExp(term.replace(/\\.|\[(?:\\.|[^\]])*\]|[/#]/g, either), flags);
	} catch (e) { // half typed, or meant literally
		return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[/#]/g, either), flags);
	}
}

const percent = (n, of) => `${of ? Number((100 * n / of).toFixed(2)) : 0} %`;

// Counts each sample once: a hit within a hit adds nothing.
function search() {
	const zoomed = boxes[state.zoom], re = pattern(), active = state.term || state.kind;
	let sum = 0, until = 0, before = 0, after = 0;
	for (const b of boxes) {
		b.hit = active !== '' && (!state.kind || b.kind === state.kind) && re.test(b.name);
		if (b.hit && b.index >= zoomed.index && b.index < zoomed.end && b.index >= until) {
			sum += b.n;
			before += b.before;
			after += b.after;
			until = b.end;
		}
	}
	if (!active || !zoomed)
		matched.textContent = '';
	else if (isDifference)
		matched.textContent = `Matched: ${percent(before, zoomed.before)} → ${percent(after, zoomed.after)}`;
	else
		matched.textContent = `Matched: ${percent(sum, zoomed.n)} · ${amountText(sum, unit)}`;
}
