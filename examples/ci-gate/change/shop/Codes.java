// SPDX-License-Identifier: Apache-2.0
package shop;

class Codes {
	/** The code of an article: letters and digits only, in capitals. A line instead of six. */
	static String normalize(String typed) {
		return typed.replaceAll("[^A-Za-z0-9]", "").toUpperCase();
	}
}
