// SPDX-License-Identifier: Apache-2.0
// The user's choices. They are stored in the URL, so that a view can be sent, and in the browser's
// history, so that Back works.

const START = {
	view: 'graph', // graph, tree, methods, callers, timeline
	zoom: 0, // node of the view's tree
	flip: false, // icicle: the root at the top
	term: '', matchCase: false, // search
	kind: '', // letter of the kind that is shown, the others faded
	hide: '', // letters of the kinds whose time goes to the callers
	group: '', threads: 'pool', // roots: '', process, container; merged, pool, name, id
	full: false, // all frames that start a thread, no chain folded
	idle: false, // waits for something to do are shown, too
	folded: '', // letters of the panels that are folded away (panels.js)
	from: 0, to: 0, // seconds; the whole when to is 0
	method: '', // whose callers and callees are shown
	sort: '', // of the methods: a column
	sides: 'both', // of a difference: both, before, after
	theme: '', // light, dark; else as the system has it
};

const CHOICES = {
	view: ['graph', 'tree', 'methods', 'callers', 'timeline'], group: ['', 'process', 'container'],
	threads: ['merged', 'pool', 'name', 'id'], sides: ['both', 'before', 'after'],
	theme: ['', 'light', 'dark'],
};

function stateToHash(state) {
	const p = new URLSearchParams();
	for (const [key, start] of Object.entries(START))
		if (state[key] !== start)
			p.set(key, state[key] === true ? '1' : state[key]);
	return `#${p}`;
}

// Takes over what the command line and the browser say of a URL that says nothing.
function setStart(choices, folded) {
	if (CHOICES.threads.includes(choices.threads))
		START.threads = choices.threads;
	START.full = choices.full === true;
	START.folded = folded;
}

// Makes a valid state of any URL.
function stateFromHash(hash) {
	const p = new URLSearchParams(hash.slice(1)), state = {...START};
	for (const [key, start] of Object.entries(START)) {
		const text = p.get(key);
		if (text === null)
			continue;
		if (typeof start === 'boolean')
			state[key] = text === '1';
		else if (typeof start === 'number')
			state[key] = Number.isFinite(Number(text)) ? Math.max(0, Number(text)) : start;
		else if (!CHOICES[key] || CHOICES[key].includes(text))
			state[key] = text;
	}
	state.zoom = Math.floor(state.zoom);
	return state;
}

// depth: how many states of this page are before it in the browser's history.
function saveState(state, asStep) {
	const depth = history.state && history.state.depth || 0, hash = stateToHash(state);
	if (hash === (location.hash || '#'))
		return;
	try {
		if (asStep)
			history.pushState({depth: depth + 1}, '', hash);
		else
			history.replaceState({depth}, '', hash);
	} catch (e) { // a document without an address of its own
	}
}

const canGoBack = () => Boolean(history.state && history.state.depth);
