// SPDX-License-Identifier: Apache-2.0
// Says what the processors worked for, which methods of the application took most of it, and what
// is bad about the recording. It is folded in a small window; warnings are counted then.

class Verdict {
	constructor(app) {
		const {verdict} = app.rec, place = byId('verdict');
		if (!verdict || !(verdict.text || verdict.warnings.length))
			return;
		this.app = app;
		const {warnings} = verdict, plural = warnings.length === 1 ? '' : 's';
		byId('verdict-text').textContent = verdict.text;
		byId('verdict-methods').append(...verdict.methods.map((method) => this.method(method)));
		byId('verdict-methods').append(...verdict.subjects.map((subject) => this.subject(subject)));
		if (verdict.pauses.length)
			byId('verdict-tables').append(this.pauses(verdict.pauses));
		if (verdict.compilations.length)
			byId('verdict-tables').append(this.compilations(verdict.compilations));
		if (verdict.waits.length)
			byId('verdict-tables').append(this.waits(verdict.waits));
		byId('verdict-warnings').append(...warnings.map((text) => el('p', {class: 'bad'}, text)));
		if (warnings.length) {
			byId('verdict-bad').textContent = `${warnings.length} warning${plural}`;
			byId('quality').classList.add('bad');
			byId('verdict-bad').title = byId('quality').title = warnings.join('\n');
		}
		place.open = innerHeight >= 700 && innerWidth >= 700;
		place.hidden = false;
	}

	method([name, total, self, owner]) {
		const about = `${name}: ${total} of the samples with all that it calls, ${self} in itself`;
		const button = el('button', {class: 'link', title: about, onclick: () => this.show(name)},
			name.replace(/^(?:[a-z][^./:(]*[./](?=[^./:(]*[./:]))+/, ''));
		return el('li', {}, button, el('span', {class: 'dim'},
			` ${total}, self ${self}${owner === 'application' ? '' : ` (${owner})`}`));
	}

	// What was allocated, or waited for, by whom, and who held it.
	subject([share, text, name]) {
		return el('li', {class: 'line'}, el('span', {class: 'dim'}, `${share} `),
			el('button', {class: 'link', onclick: () => this.show(name)}, text));
	}

	// The longest pauses; a row shows the stacks of its operation.
	pauses(list) {
		return this.table('The longest pauses', ['Begin', 'Pause', 'To stop', 'Heap', 'Operation'],
			list.map(([begin, all, stopping, before, after, text]) =>
				[`${begin.toFixed(3)} s`, `${all.toFixed(1)} ms`, `${stopping.toFixed(1)} ms`,
					before || after ? amountsText(before, after, 'bytes') : '', text, text.split(',')[0]]));
	}

	// The longest waits of threads that had something to do.
	waits(list) {
		return this.table('The longest waits', ['Begin', 'Wait', 'Thread', 'What for'],
			list.map(([begin, ms, thread, text, method]) =>
				[`${begin.toFixed(3)} s`, `${ms.toFixed(1)} ms`, thread, text, method || text.split(' ')[0]]));
	}

	// Methods that were compiled again and again; a row shows what compiled them.
	compilations(list) {
		return this.table('The most often compiled methods', ['C1', 'C2', 'Not entrant', 'Time', 'Method'],
			list.map(([c1, c2, discarded, ms, method]) =>
				[c1, c2, discarded, `${ms.toFixed(1)} ms`, method, `${method} (${c2 ? 'C2' : 'C1'})`]));
	}

	// Each row ends with a text, and the name that a click on it shows.
	table(label, head, rows) {
		return el('table', {'aria-label': label},
			el('thead', {}, el('tr', {}, ...head.map((text) => el('th', {scope: 'col'}, text)))),
			el('tbody', {}, ...rows.map((row) => el('tr', {},
				...row.slice(0, -2).map((text) => el('td', {class: 'number'}, String(text))),
				el('td', {}, el('button', {class: 'link', onclick: () => this.show(row.at(-1))}, row.at(-2)))))));
	}

	// The names of lambdas are shortened: those are searched.
	show(name) {
		const {app} = this;
		if (app.rec.names.includes(name))
			app.change({view: 'callers', method: name}, true);
		else
			app.change({term: name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}, true);
	}
}
