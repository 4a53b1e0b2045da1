// SPDX-License-Identifier: Apache-2.0
import java.io.OutputStream;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;

/** The Eclipse compiler in a loop, on each of two threads, for SECONDS, on what Load gives to javac. */
public class Ecj {
	static void compile(Method ecj, Path dir) throws ReflectiveOperationException {
		PrintWriter none = new PrintWriter(OutputStream.nullOutputStream());
		String options = "-17 -proc:none -nowarn -d " + dir + "/out " + dir;

		if (!(Boolean) ecj.invoke(null, options, none, none, null))
			throw new IllegalStateException("ecj failed");
	}

	static void work(Method ecj, int thread, long end) {
		try {
			Path dir = Files.createTempDirectory("ecj");

			for (int i = 0; i < 4; i++)
				Files.writeString(dir.resolve("T" + (4 * thread + i) + ".java"), Load.source(4 * thread + i));
			while (System.nanoTime() < end)
				compile(ecj, dir);
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_000_000_000L * Long.parseLong(args[0]);
		Class<?> batch = Class.forName("org.eclipse.jdt.core.compiler.batch.BatchCompiler");
		Method ecj = batch.getMethod("compile", String.class, PrintWriter.class, PrintWriter.class,
				Class.forName("org.eclipse.jdt.core.compiler.CompilationProgress"));

		for (int t = 0; t < 2; t++) {
			int thread = t;

			new Thread(() -> work(ecj, thread, end), "compiler-" + t).start();
		}
	}
}
