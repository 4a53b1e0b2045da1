// SPDX-License-Identifier: Apache-2.0
package shop;

class Codes {
	/** The code of an article: letters and digits only, in capitals. */
	static String normalize(String typed) {
		StringBuilder code = new StringBuilder(typed.length());
		for (int i = 0; i < typed.length(); i++) {
			char c = typed.charAt(i);
			if (Character.isLetterOrDigit(c))
				code.append(Character.toUpperCase(c));
		}
		return code.toString();
	}
}
