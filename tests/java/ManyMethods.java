// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Makes many small methods and has them compiled: CLASSES classes of 25 methods each. Then waits for
 * SECONDS seconds, in which one thread measures its own longest pause ("gap") in each second: what a
 * dump that stops threads would show up in.
 */
public class ManyMethods {
	static final int METHODS = 25;
	static volatile long sum;

	static final class Source extends SimpleJavaFileObject {
		final String text;

		Source(String name, String text) {
			super(URI.create("mem:///" + name + ".java"), Kind.SOURCE);
			this.text = text;
		}

		@Override
		public CharSequence getCharContent(boolean ignore) {
			return text;
		}
	}

	static final class Binary extends SimpleJavaFileObject {
		final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

		Binary(String name) {
			super(URI.create("mem:///" + name + ".class"), Kind.CLASS);
		}

		@Override
		public OutputStream openOutputStream() {
			return bytes;
		}
	}

	static final class Files extends ForwardingJavaFileManager<JavaFileManager> {
		final Map<String, Binary> classes = new HashMap<>();

		Files(JavaFileManager next) {
			super(next);
		}

		@Override
		public JavaFileObject getJavaFileForOutput(Location where, String name,
				JavaFileObject.Kind kind, FileObject sibling) {
			Binary b = new Binary(name);

			classes.put(name, b);
			return b;
		}
	}

	static final class Loader extends ClassLoader {
		final Map<String, Binary> classes;

		Loader(Map<String, Binary> classes) {
			this.classes = classes;
		}

		@Override
		protected Class<?> findClass(String name) throws ClassNotFoundException {
			Binary b = classes.get(name);

			if (b == null)
				throw new ClassNotFoundException(name);
			return defineClass(name, b.bytes.toByteArray(), 0, b.bytes.size());
		}
	}

	static Source source(int n) {
		StringBuilder s = new StringBuilder("package many; public class G" + n + " implements Runnable {\n");

		for (int m = 0; m < METHODS; m++)
			s.append("static int work" + m + "(int[] a, int x) { int s = x; for (int i = 0; i < a.length; i++)"
					+ " { s += a[i] * " + (m + n) + "; if (s % 7 == " + m % 7 + ") s ^= i; }"
					+ " String t = Integer.toString(s); return s + t.hashCode() + t.length(); }\n");
		s.append("public void run() { int[] a = {1, 2, 3}; int s = 0; for (int i = 0; i < 300; i++) {");
		for (int m = 0; m < METHODS; m++)
			s.append("s += work" + m + "(a, i);");
		s.append("} ManyMethodsSum.add(s); } }");
		return new Source("many/G" + n, s.toString());
	}

	static void watch(long seconds) {
		for (long n = 0; n < seconds; n++) {
			long last = System.nanoTime(), end = last + 1_000_000_000L, gap = 0;

			while (last < end) {
				long now = System.nanoTime();

				if (now - last > gap)
					gap = now - last;
				last = now;
			}
			System.out.println("gap " + gap / 1000);
		}
	}

	public static void main(String[] args) throws Exception {
		int count = Integer.parseInt(args[0]);
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		Files files = new Files(javac.getStandardFileManager(null, null, null));
		List<Source> sources = new ArrayList<>();

		sources.add(new Source("many/ManyMethodsSum",
				"package many; class ManyMethodsSum { static int sum; static void add(int n) { sum += n; } }"));
		for (int i = 0; i < count; i++)
			sources.add(source(i));
		if (!javac.getTask(null, files, null, null, null, sources).call())
			throw new IllegalStateException("javac failed");
		Loader loader = new Loader(files.classes);
		for (int i = 0; i < count; i++)
			((Runnable) loader.loadClass("many.G" + i).getDeclaredConstructor().newInstance()).run();
		System.out.println("ready");
		watch(Long.parseLong(args[1]));
	}
}
