// SPDX-License-Identifier: Apache-2.0
// Elements, numbers as text. Names of frames get into the document by el() only, as text.

function el(name, attributes, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key.startsWith('on'))
			e.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== false)
			e.setAttribute(key, value === true ? '' : value);
	}
	e.append(...children.filter((c) => c !== undefined && c !== null && c !== ''));
	return e;
}

const byId = (id) => document.getElementById(id);
const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

// A count of what the graph counts.
const samplesText = (n) => amountText(n, counting.unit);
// The same without the unit where it is not scaled.
const countText = (n) => scales[counting.unit] && n >= 1000 ? samplesText(n) : grouped(n);

// A colour of the data as CSS; in the dark theme less bright, with black text still readable.
function cssColour(rgb, dark) {
	const part = (shift) => Math.round((rgb >> shift & 255) * (dark ? 0.86 : 1));
	return `rgb(${part(16)},${part(8)},${part(0)})`;
}

// A share as a bar; the figure stands beside it.
function bar(part, whole) {
	const filled = el('span');
	filled.style.width = `${whole ? 100 * part / whole : 0}%`;
	return el('span', {class: 'bar', 'aria-hidden': 'true'}, filled);
}

// A name with possible line breaks before its parts.
const wrappable = (name) => name.match(/[.$]*[^.$]*/g).flatMap((part, i) => i ? [el('wbr'), part] : [part]);

// Copies what text() returns, as lines: a stack has its innermost frame first, as Java prints them.
function copyButton(label, text) {
	const button = el('button', {onclick: async () => {
		const area = el('textarea', {readonly: true});
		area.value = text();
		button.after(area);
		area.select();
		try { // not all browsers have a clipboard for a page of a file
			await navigator.clipboard.writeText(area.value);
			button.textContent = 'Copied';
		} catch (e) {
			button.textContent = document.execCommand('copy') ? 'Copied' : 'Copy: Ctrl C';
		}
		if (button.textContent === 'Copied')
			area.remove();
	}}, label);
	return button;
}

// Merges calls into one before the next repaint.
function oncePerFrame(action) {
	let waiting = false;
	return () => {
		if (waiting)
			return;
		waiting = true;
		requestAnimationFrame(() => {
			waiting = false;
			action();
		});
	};
}
