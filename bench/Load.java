// SPDX-License-Identifier: Apache-2.0
import java.io.StringWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** A program with deep and various stacks: javac, compiling in memory on each of two threads. */
public class Load {
	static String source(int n) {
		StringBuilder s = new StringBuilder("import java.util.*; import java.util.stream.*; class T" + n + " {\n");

		for (int i = 0; i < 40; i++) {
			s.append("int m" + i + "(List<String> in) { Map<String, List<Integer>> m = new HashMap<>();\n");
			s.append("for (String x : in) m.computeIfAbsent(x.trim(), k -> new ArrayList<>()).add(x.length() * " + i + ");\n");
			s.append("return m.values().stream().flatMap(List::stream).filter(v -> v > " + i + ")");
			s.append(".mapToInt(v -> v + 1).sum(); }\n");
		}
		return s.append("}\n").toString();
	}

	static void compile(int n) {
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		List<JavaFileObject> files = new ArrayList<>();

		for (int i = 0; i < 4; i++) {
			int id = n * 4 + i;

			files.add(new SimpleJavaFileObject(URI.create("string:///T" + id + ".java"), JavaFileObject.Kind.SOURCE) {
				@Override
				public CharSequence getCharContent(boolean ignore) {
					return source(id);
				}
			});
		}
		javac.getTask(new StringWriter(), null, d -> { }, List.of("-proc:none", "-d", System.getProperty("java.io.tmpdir")),
				null, files).call();
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_000_000_000L * Long.parseLong(args[0]);

		for (int t = 0; t < 2; t++) {
			int id = t;

			new Thread(() -> {
				while (System.nanoTime() < end)
					compile(id);
			}, "compiler-" + t).start();
		}
	}
}
