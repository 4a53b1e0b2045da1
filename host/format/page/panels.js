// SPDX-License-Identifier: Apache-2.0
// Parts around the graph that can be folded away. What a user folded is remembered in this browser,
// and in the URL if it differs from that.

const PANELS = {t: 'heat', k: 'legend', n: 'notes'}; // by letter of state.folded: time, kinds, notes
const PANELS_KEY = 'dfg-folded', LOW_WINDOW = 700, NARROW_WINDOW = 760;

function rememberedPanels() {
	try {
		const text = localStorage.getItem(PANELS_KEY);
		if (text !== null)
			return [...text].filter((c) => PANELS[c]).join('');
	} catch (e) { // no storage for this document
	}
	return innerWidth <= NARROW_WINDOW ? 'tkn' : innerHeight < LOW_WINDOW ? 'tn' : '';
}

function rememberPanels(folded) {
	try {
		localStorage.setItem(PANELS_KEY, folded);
	} catch (e) { // as above
	}
}

class Panels {
	constructor(app) {
		this.app = app;
		for (const button of document.querySelectorAll('[data-panel]'))
			button.addEventListener('click', () => this.turn(button.dataset.panel));
		document.querySelector('[data-panel=t]').hidden = !app.rec.duration;
		document.querySelector('[data-panel=k]').hidden = app.rec.isDifference;
	}

	turn(letter) {
		const {app} = this, {folded} = app.state;
		const now = folded.includes(letter) ? folded.replace(letter, '') : folded + letter;
		rememberPanels(now);
		START.folded = now;
		app.change({folded: now});
	}

	update() {
		const {folded} = this.app.state;
		for (const [letter, id] of Object.entries(PANELS)) {
			byId(id).classList.toggle('folded', folded.includes(letter));
			document.querySelector(`[data-panel=${letter}]`)
				.setAttribute('aria-pressed', !folded.includes(letter));
		}
	}
}
