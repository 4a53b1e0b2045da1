// SPDX-License-Identifier: Apache-2.0
// manifests.mjs DIR <OBJECTS: holds Kubernetes objects (a JSON array) against the API's schemas, as the package
// kubernetes-models below DIR/node_modules has them compiled from the API's OpenAPI description. A line for each
// thing that is wrong; status 1 when there is one.
//
// A field that the API does not know is one that the schema's code never looks at.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const schemas = resolve(process.argv[2], 'node_modules/kubernetes-models/_schemas');

// The value, and in seen what of it was read.
function watched(value, path, seen) {
	if (value === null || typeof value !== 'object')
		return value;
	return new Proxy(value, {
		get(target, key) {
			if (!Object.hasOwn(target, key))
				return target[key];
			seen.add(`${path}/${String(key)}`);
			return watched(target[key], `${path}/${String(key)}`, seen);
		},
	});
}

function* fields(value, path = '') {
	if (value === null || typeof value !== 'object')
		return;
	for (const [key, inner] of Object.entries(value)) {
		yield `${path}/${key}`;
		yield* fields(inner, `${path}/${key}`);
	}
}

// apps/v1, DaemonSet: IoK8sApiAppsV1DaemonSet
function schemaName({ apiVersion, kind }) {
	const [version, group = 'core'] = apiVersion.split('/').reverse();
	const word = (s) => s[0].toUpperCase() + s.slice(1);
	return `IoK8sApi${word(group.split('.')[0])}${word(version)}${kind}`;
}

async function* complaints(object) {
	const { validate } = await import(`${schemas}/${schemaName(object)}.js`);
	const seen = new Set();
	if (!validate(watched(object, '', seen)))
		for (const e of validate.errors)
			yield `${e.instancePath}: ${e.keyword} ${JSON.stringify(e.params)}`;
	for (const path of fields(object))
		if (!seen.has(path))
			yield `${path}: no such field`;
}

for (const object of JSON.parse(readFileSync(0)))
	for await (const line of complaints(object)) {
		console.log(`${object.kind} ${object.metadata?.name}${line}`);
		process.exitCode = 1;
	}
