// SPDX-License-Identifier: Apache-2.0
// Shares with their sampling error, changes with their significance.

// What is counted, and how many samples one of it tells as much as, before and after: events may count more than 1 each.
const counting = {unit: 'samples', worth: [1, 1]};

const Z95 = 1.96; // standard normal, 95 % two-sided

// Half the width of Wilson's score interval, valid also for few samples and shares near 0 and 1.
function shareError(part, whole) {
	const p = part / whole, n = whole * Math.min(...counting.worth), zz = Z95 * Z95 / n;
	return Z95 / (1 + zz) * Math.sqrt((p * (1 - p) + zz / 4) / n);
}

// Two-proportion z: the difference of the shares of `after` and `before` in standard errors. 0
// where it is not defined.
function changeScore(before, beforeTotal, after, afterTotal) {
	const [b, a] = counting.worth, beforeWorth = b * beforeTotal, afterWorth = a * afterTotal;
	const p = (b * before + a * after) / (beforeWorth + afterWorth);
	const error = Math.sqrt(p * (1 - p) * (1 / beforeWorth + 1 / afterWorth));
	return error > 0 ? (after / afterTotal - before / beforeTotal) / error : 0;
}

// The z of the same probability as a score whose error is `spread` times as great, which was estimated
// with so many degrees of freedom: Wallace's approximation of Student's distribution.
function spreadScore(score, spread, freedom) {
	if (!(spread > 1))
		return score;
	const t = score / spread, factor = (8 * freedom + 1) / (8 * freedom + 3);
	return Math.sign(t) * factor * Math.sqrt(freedom * Math.log1p(t * t / freedom));
}

const decimalsFor = (error) => error >= 0.1 ? 1 : error >= 0.01 ? 2 : 3;

function percentText(part, whole) {
	if (!part || part === whole)
		return part ? '100\u00a0%' : '0\u00a0%';
	return `${(100 * part / whole).toFixed(decimalsFor(100 * shareError(part, whole)))}\u00a0%`;
}

// "12.3 % ± 0.4"
function shareText(part, whole) {
	if (!part || part === whole)
		return part ? '100\u00a0%' : '0\u00a0%';
	const error = 100 * shareError(part, whole), decimals = decimalsFor(error);
	return `${(100 * part / whole).toFixed(decimals)}\u00a0%\u00a0±\u00a0${error.toFixed(decimals)}`;
}

const signedText = (n, decimals, plus = '') => `${n < 0 ? '−' : plus}${Math.abs(n).toFixed(decimals)}`;
const pointsText = (points) => `${signedText(points, 2, '+')}\u00a0points`;
const scoreText = (score) => `z\u00a0=\u00a0${signedText(score, 1)}`;
