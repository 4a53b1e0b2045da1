// SPDX-License-Identifier: Apache-2.0
// Searching by the rules of all of dfg's programs: a regular expression, or plain text if it is not a
// valid one. Case counts if the term has a capital letter, or on request; "/" and "#" find ".", too,
// so that java/util/HashMap#put is found.

function searchPattern(term, matchCase) {
	const flags = matchCase || /\p{Lu}/u.test(term.replace(/\\./g, '')) ? '' : 'i';
	const either = (text) => text === '/' ? '[./]' : text === '#' ? '[.#]' : text;
	try {
		return new RegExp(term.replace(/\\.|\[(?:\\.|[^\]])*\]|[/#]/g, either), flags);
	} catch (e) { // half typed, or meant literally
		return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[/#]/g, either), flags);
	}
}
