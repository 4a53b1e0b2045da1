// SPDX-License-Identifier: Apache-2.0
// Counts as text, in the page and in the picture; text_amount in text.c has the same rules.

const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
const scales = {bytes: ['kB', 'MB', 'GB', 'TB'], ns: ['µs', 'ms', 's']};

// A count of a unit, of bytes and ns in three digits.
function amountText(n, unit) {
	const larger = scales[unit] || [];
	let step = 1, zeros = 0;
	for (; Math.round(n / step) >= 1000 && zeros < 3 * larger.length; zeros++)
		step *= 10;
	const index = Math.ceil(zeros / 3), decimals = 3 * index - zeros, digits = Math.round(n / step);
	return `${decimals ? (digits / 10 ** decimals).toFixed(decimals) : grouped(digits)} ${
		index ? larger[index - 1] : n === 1 && unit === 'samples' ? 'sample' : unit}`;
}

// "3 → 5 samples", "3.22 GB → 512 MB".
const amountsText = (before, after, unit) => scales[unit]
	? `${amountText(before, unit)} → ${amountText(after, unit)}` : `${grouped(before)} → ${grouped(after)} ${unit}`;
