// SPDX-License-Identifier: Apache-2.0
// The user interface of the picture: buttons, search field, URL, events. In one scope with svg.js.

// ---- head and foot ----

// Keeps head and foot in the window while a picture higher than the window is scrolled.
function makePinned(name, elements) {
	const g = make(svg, 'g', {class: name});
	make(g, 'rect', {class: 'back', width: '100%', fill: '#fff'});
	g.append(...elements);
	return g;
}

const head = makePinned('head', svg.querySelectorAll('.title, .subtitle, .verdict, .legend'));
const foot = makePinned('foot', [details, quality]);
const isDocument = svg === document.documentElement; // and not part of one

function pin() {
	const below = Number(svg.getAttribute('height')) - window.scrollY - window.innerHeight;
	head.setAttribute('transform', `translate(0 ${isDocument ? window.scrollY : 0})`);
	foot.setAttribute('transform', `translate(0 ${isDocument ? -Math.max(0, below) : 0})`);
}

function scrollToRoot() {
	if (isDocument)
		window.scrollTo(0, state.icicle ? 0 : svg.getAttribute('height'));
}

function flip() {
	change({icicle: !state.icicle});
	scrollToRoot();
}

// ---- details and buttons ----

let pointed; // the frame under the pointer or in focus

function describe(b) {
	pointed = b;
	if (!b) {
		details.textContent = ' ';
		return;
	}
	if (isDifference) {
		details.textContent = [b.name, labels[b.kind],
			amountsText(b.before, b.after, unit), b.changes].join(' · ');
		return;
	}
	const parts = [b.name, labels[b.kind], amountText(b.n, unit),
		percent(b.n, boxes[0].n)];
	const zoomed = boxes[state.zoom];
	if (b.index > zoomed.index && b.index < zoomed.end && state.zoom)
		parts.push(`${percent(b.n, zoomed.n)} of what is shown`);
	details.textContent = parts.filter(Boolean).join(' · ');
}

const matched = make(head, 'text', {class: 'matched', y: 27, 'text-anchor': 'end'}, '');
const bar = make(head, 'g', {class: 'buttons'});

function button(name, text, about, action) {
	const g = make(bar, 'g', {class: `button ${name}`, role: 'button', tabindex: 0});
	const e = {g, name, text, action};
	make(g, 'title', {}, about);
	e.rect = make(g, 'rect', {y: 12, height: 22, rx: 4});
	e.text = make(g, 'text', {y: 27, 'text-anchor': 'middle'}, text);
	g.addEventListener('click', action);
	g.addEventListener('keydown', (event) => {
		if (event.key === 'Enter' || event.key === ' ') {
			event.preventDefault();
			action();
		}
	});
	return e;
}

const widths = ['both', 'after', 'before'];
const buttons = [
	button('reset', 'Reset', 'All frames, no search (Esc)', reset),
	button('search', 'Search', 'Find frames by name, a regular expression (Ctrl-F)', openSearch),
	button('mc', 'Aa', 'Match case (Ctrl-I); else a capital letter in the term does',
		() => change({matchCase: !state.matchCase})),
	button('flip', 'Icicle', 'Callers above', flip),
];
if (isDifference)
	buttons.push(button('width', 'Widths: before', 'Width of a frame: its share after, before, or both (w)',
		nextWidth));

function nextWidth() {
	change({width: widths[(widths.indexOf(state.width) + 1) % widths.length]});
}

// Places the buttons from right to left, the search result beside them; returns their left edge.
function drawButtons() {
	let x = width - MARGIN;
	const on = {search: state.term, mc: state.matchCase, flip: state.icicle};
	for (const b of [...buttons].reverse()) {
		if (b.name === 'width')
			b.text.textContent = `Widths: ${state.width}`;
		const used = b.name !== 'reset' || state.zoom || state.term || state.kind;
		const w = Math.ceil(b.text.getComputedTextLength()) + 16;
		b.g.setAttribute('class', `button ${b.name}${on[b.name] ? ' on' : ''}`);
		b.g.setAttribute('visibility', used ? 'inherit' : 'hidden');
		b.rect.setAttribute('x', x - w);
		b.rect.setAttribute('width', w);
		b.text.setAttribute('x', x - w / 2);
		x -= used ? w + 6 : 0;
	}
	bar.setAttribute('visibility', boxes.length ? 'inherit' : 'hidden');
	matched.setAttribute('x', x - 6);
	return x - 6 - matched.getComputedTextLength();
}

// ---- search field: made here, since it is useless without the script ----

const field = make(head, 'foreignObject', {y: 38, width: 280, height: 24, display: 'none'});
const input = field.appendChild(document.createElementNS(XHTML, 'input'));
input.setAttribute('type', 'text');
input.setAttribute('placeholder', 'name or regular expression');
input.setAttribute('aria-label', 'Search frames');
input.setAttribute('spellcheck', 'false');
input.addEventListener('input', () => change({term: input.value}));

function openSearch() {
	field.removeAttribute('display');
	input.value = state.term;
	input.focus();
	input.select();
}

function closeSearch() {
	field.setAttribute('display', 'none');
	input.blur();
}

// ---- state ----

function save() {
	const p = new URLSearchParams();
	if (state.zoom)
		p.set('z', state.zoom);
	if (state.term)
		p.set('s', state.term);
	if (state.matchCase)
		p.set('mc', 1);
	if (state.icicle)
		p.set('icicle', 1);
	if (state.kind)
		p.set('k', state.kind);
	if (state.width !== 'both')
		p.set('w', state.width);
	try {
		history.replaceState(null, '', `#${p}`);
	} catch (e) { // a document without an address of its own
	}
}

function load() {
	const p = new URLSearchParams(location.hash.slice(1)), zoom = Number(p.get('z'));
	state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < boxes.length ? zoom : 0;
	state.term = p.get('s') || '';
	state.matchCase = p.get('mc') === '1';
	state.icicle = p.get('icicle') === '1';
	state.width = widths.includes(p.get('w')) ? p.get('w') : 'both';
	state.kind = one(`.key.${CSS.escape(p.get('k') || '-')}`) ? p.get('k') : '';
}

function draw() {
	if (isDifference)
		weigh();
	search();
	drawAround();
	drawFrames();
	describe(pointed);
}

function change(what) {
	Object.assign(state, what);
	save();
	draw();
}

function reset() {
	closeSearch();
	change({zoom: 0, term: '', kind: ''});
}

// ---- events ----

const boxAt = (event) => boxOf.get(event.target.closest('.frames > g'));

// Moves from the focused frame to its caller, its first callee, or a sibling.
function neighbour(b, key) {
	const outward = state.icicle ? 'ArrowUp' : 'ArrowDown';
	const shown = (c) => c && !c.g.hasAttribute('display');
	if (key === outward)
		return boxes[b.up];
	if (key === 'ArrowUp' || key === 'ArrowDown')
		return boxes.slice(b.index + 1, b.end).find((c) => c.up === b.index && shown(c));
	if (key === 'ArrowRight')
		return boxes.slice(b.end).find((c) => c.up === b.up && shown(c));
	if (key === 'ArrowLeft')
		return boxes.slice(0, b.index).reverse().find((c) => c.up === b.up && shown(c));
	return undefined;
}

frames.addEventListener('click', (event) => {
	const b = boxAt(event);
	if (b)
		change({zoom: b.index});
});
frames.addEventListener('mouseover', (event) => describe(boxAt(event)));
frames.addEventListener('mouseleave', () => describe());
frames.addEventListener('keydown', (event) => {
	const b = boxAt(event), next = b && neighbour(b, event.key);
	if (b && event.key === 'Enter')
		change({zoom: b.index});
	if (!next)
		return;
	event.preventDefault();
	b.g.setAttribute('tabindex', -1);
	next.g.setAttribute('tabindex', 0);
	next.g.focus();
});
for (const key of svg.querySelectorAll('.key'))
	key.addEventListener('click', () => {
		const kind = key.classList[1];
		change({kind: state.kind === kind ? '' : kind});
	});
// On the window: Chromium lets an SVG element with such a listener take the focus itself.
window.addEventListener('focusin', (event) => {
	if (frames.contains(event.target))
		describe(boxAt(event));
});
window.addEventListener('keydown', (event) => {
	if ((event.ctrlKey || event.metaKey) && event.key === 'f' || event.key === 'F3') {
		event.preventDefault();
		openSearch();
	} else if (event.ctrlKey && event.key === 'i') {
		event.preventDefault();
		change({matchCase: !state.matchCase});
	} else if (isDifference && event.key === 'w' && event.target !== input) {
		nextWidth();
	} else if (event.key === 'Escape') {
		reset();
	} else if (event.key === 'Enter' && event.target === input) {
		closeSearch();
	}
});
window.addEventListener('hashchange', () => {
	load();
	draw();
});
window.addEventListener('resize', draw);
window.addEventListener('scroll', pin);

const probe = make(frames, 'text', {}, 'm'.repeat(100));
letter = probe.getComputedTextLength() / 100 || letter;
probe.remove();
if (boxes.length)
	boxes[0].g.setAttribute('tabindex', 0);
load();
draw();
scrollToRoot();
