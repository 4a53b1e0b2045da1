// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * Programs whose call trees are known: {@code Known MODE SECONDS} runs one of them on a thread named
 * "known" and prints nothing. tests/java/known.py holds the stacks of a recording against the trees:
 *
 * <pre>
 * &#64;thread MODE REGEX          the threads to look at, where they have another name
 * &#64;root   MODE REGEX          what each of their stacks must have, instead of Thread.run and Known.run
 * &#64;deep   MODE                stacks may end where the copy of the stack does
 * &#64;chain  MODE PERCENT REGEX  at least so many of the thread's stacks match (frames from the outside,
 *                            divided by ;)
 * &#64;inline MODE PERCENT REGEX  the same, but inlined code has its own names between safepoints with
 *                            -XX:+DebugNonSafepoints only
 * </pre>
 *
 * Of two Java frames next to each other the caller's bytecode must call a method of the callee's name,
 * which is read from the class files, so that what may call what is not told twice.
 */
// @thread virtual   ForkJoin.*
// @root   virtual   java\.lang\.VirtualThread\.run(Continuation)?|\[frozen.frames.of.a.virtual.thread\]
// @deep   recursion
// @chain recursion  90 Known\.deep;Known\.deep
// @chain streams    60 Known\.streams;.*java\.util\.stream\.
// @chain regex      60 Known\.regex;Known\.match;java\.util\.regex\.Matcher\.find;
// @chain strings    90 Known\.strings
// @chain treemap    50 Known\.treemap;java\.util\.TreeMap\.put
// @chain exceptions 60 Known\.exceptions;Known\.catches;Known\.throwsAt
// @chain reflection 90 Known\.reflection
// @chain handles    90 Known\.handles
// @chain lambdas    80 Known\.lambdas;Known\.apply
// @chain zip        60 Known\.zip;.*Deflater\.deflate;.*Java_java_util_zip_Deflater
// @chain jni        60 Known\.jni;Known\.down;Java_Known_down;known_middle;.*;Known\.called
// @chain copy       90 Known\.copy
// @chain crypto     20 Known\.crypto;.*Cipher
// @chain mega       90 Known\.mega
// @chain osr        95 Known\.osr(;|$)
// @chain sync       80 Known\.sync
// @chain contended  80 Known\.contended
// @chain gc         40 Known\.gc;Known\.allocate
// @chain barriers   90 Known\.barriers
// @chain classes    30 Known\.classes;Known\.define
// @chain deopt      10 Known\.deopt;.*Known\$Victim\.(run|visit)
// @chain virtual    60 Known\.virtualDeep
// @chain mix         5 Known\.mix;Known\.regex;Known\.match;java\.util\.regex\.Matcher\.find;
// @chain mix         3 Known\.mix;(Known\.treemap;.*java\.util\.TreeMap\.put|Known\.mega|Known\.exceptions)
// @inline strings   30 Known\.strings;Known\.compare
// @inline treemap   30 Known\.treemap;java\.util\.TreeMap\.put;.*Known\.byEnd
// @inline reflection 50 Known\.reflection;java\.lang\.reflect\.Method\.invoke;.*;Known\.reflected
// @inline handles   50 Known\.handles;(.*;)?Known\.handled
// @inline mega      50 Known\.mega;Known\.visit;(.*;)?Known\$Shape\d\.area
// @inline lambdas   50 Known\.lambdas;Known\.apply;(.*;)?Known\.lambda\$
// @inline copy      40 Known\.copy;Known\.copyOne
// @inline sync      50 Known\.sync;Known\.guarded
// @inline contended 20 Known\.contended;Known\.fight
public class Known implements Runnable {
	static volatile long sink;
	static long end;
	final String mode;

	Known(String mode) {
		this.mode = mode;
	}

	static int burn(int n) {
		int x = n;

		for (int i = 0; i < n; i++)
			x = x * 31 + (x >>> 7) ^ i;
		return x;
	}

	// Deeper than any copy of the stack: cut, but never wrong.
	static int deep(int n) {
		return n == 0 ? burn(20) : deep(n - 1) + 1;
	}

	static void recursion() {
		sink += deep(8000);
	}

	static void streams() {
		sink += IntStream.range(0, 4000).filter(i -> i % 3 != 0).mapToObj(i -> i * 7 % 1009)
				.sorted(Comparator.reverseOrder()).mapToInt(i -> i).sum();
	}

	static final Pattern PATTERN = Pattern.compile("(\\w+)=(\\d+|\"[^\"]*\")(?:;|$)");
	static final String TEXT = repeat("alpha=1;beta=\"two words\";gamma=333;delta=\"\";", 40);

	// Compiled for Java 8, which has no String.repeat.
	static String repeat(String s, int n) {
		StringBuilder b = new StringBuilder();

		while (n-- > 0)
			b.append(s);
		return b.toString();
	}

	static int match(String s) {
		Matcher m = PATTERN.matcher(s);
		int n = 0;

		while (m.find())
			n += m.end(2);
		return n;
	}

	static void regex() {
		sink += match(TEXT);
	}

	static final String[] LONG = new String[8];

	static int compare(String a, String b) {
		return a.compareTo(b) + (a.equals(b) ? 1 : 0);
	}

	static int search(String s) {
		return s.indexOf("y0") + s.indexOf('z') + new String(s.toCharArray()).hashCode();
	}

	static void strings() {
		for (int i = 0; i < LONG.length; i++)
			if (LONG[i] == null)
				LONG[i] = repeat("x", 6000) + "y" + i;
		for (int i = 0; i < 400; i++)
			sink += compare(LONG[i % 8], LONG[i / 8 % 8]);
		sink += search(LONG[1]);
	}

	static int byEnd(String a, String b) {
		return a.charAt(a.length() - 1) != b.charAt(b.length() - 1)
				? a.charAt(a.length() - 1) - b.charAt(b.length() - 1) : a.compareTo(b);
	}

	static void treemap() {
		TreeMap<String, Integer> map = new TreeMap<>(Known::byEnd);

		for (int i = 0; i < 2000; i++)
			map.put(Integer.toString(i * 7919 % 2003), i);
		sink += map.size();
	}

	static int throwsAt(int n) {
		if (n == 0)
			throw new IllegalStateException();
		return throwsAt(n - 1) + 1;
	}

	static int catches() {
		try {
			return throwsAt(20);
		} catch (IllegalStateException e) {
			return 1;
		}
	}

	static void exceptions() {
		for (int i = 0; i < 100; i++)
			sink += catches();
	}

	public static int reflected(int n) {
		return burn(n);
	}

	static void reflection() throws Exception {
		Method m = Known.class.getMethod("reflected", int.class);

		for (int i = 0; i < 100; i++)
			sink += (Integer) m.invoke(null, 2000);
	}

	static int handled(int a, int b) {
		return burn(a) + b;
	}

	static MethodHandle handle;

	static void handles() throws Throwable {
		if (handle == null)
			handle = MethodHandles.insertArguments(MethodHandles.lookup().findStatic(Known.class, "handled",
					MethodType.methodType(int.class, int.class, int.class)), 1, 3);
		for (int i = 0; i < 100; i++)
			sink += (int) handle.invokeExact(2000);
	}

	static int apply(IntUnaryOperator f, int n) {
		int x = n;

		for (int i = 0; i < 1000; i++)
			x = f.applyAsInt(x);
		return x;
	}

	static void lambdas() {
		int k = (int) sink | 1;

		sink += apply(x -> x * k + burn(10), 3);
		sink += apply(x -> x / k - burn(11), 4);
		sink += apply(x -> Integer.rotateLeft(x, k) + burn(12), 5);
	}

	static final byte[] BYTES = new byte[1 << 16], OTHER = new byte[1 << 17];

	static void zip() {
		CRC32 crc = new CRC32();
		Deflater deflater = new Deflater();

		for (int i = 0; i < BYTES.length; i++)
			BYTES[i] = (byte) (i * i >> 7);
		for (int i = 0; i < 10; i++)
			crc.update(BYTES);
		deflater.setInput(BYTES);
		deflater.finish();
		while (!deflater.finished())
			sink += deflater.deflate(OTHER);
		deflater.end();
		sink += crc.getValue();
	}

	// tests/java/known.c: down calls called.
	static native int down(int n);

	static int called(int n) {
		return burn(n);
	}

	static void jni() {
		for (int i = 0; i < 100; i++)
			sink += down(3000);
	}

	static void copyOne(byte[] from, byte[] to, int shift) {
		System.arraycopy(from, shift, to, 0, from.length - shift);
		System.arraycopy(to, 0, to, shift, from.length);
		Arrays.fill(to, (byte) shift);
	}

	static void copy() {
		for (int i = 0; i < 20; i++)
			copyOne(BYTES, OTHER, i);
		sink += OTHER[5];
	}

	static void crypto() throws Exception {
		MessageDigest sha = MessageDigest.getInstance("SHA-256");
		Cipher aes = Cipher.getInstance("AES/CBC/PKCS5Padding");

		sha.update(BYTES);
		sink += sha.digest()[0];
		aes.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"));
		for (int i = 0; i < 3; i++)
			sink += aes.doFinal(BYTES).length;
	}

	interface Shape {
		int area(int n);
	}

	static class Shape0 implements Shape {
		public int area(int n) {
			return burn(n);
		}
	}

	static class Shape1 implements Shape {
		public int area(int n) {
			return burn(n + 1);
		}
	}

	static class Shape2 implements Shape {
		public int area(int n) {
			return burn(n + 2);
		}
	}

	static class Shape3 implements Shape {
		public int area(int n) {
			return burn(n + 3);
		}
	}

	static final Shape[] SHAPES = {new Shape0(), new Shape1(), new Shape2(), new Shape3()};

	static int visit(int i) {
		return SHAPES[i * 7 % 4].area(20);
	}

	static void mega() {
		for (int i = 0; i < 5000; i++)
			sink += visit(i);
	}

	// Called few times, so that its loop is compiled while it runs.
	static void osr() {
		long x = sink;

		while (System.nanoTime() < end)
			for (int i = 0; i < 100_000; i++)
				x = x * 33 + (i ^ x >>> 5);
		sink = x;
	}

	static final Object LOCK = new Object();

	static synchronized int guarded(int n) {
		synchronized (LOCK) {
			return burn(n);
		}
	}

	static void sync() {
		for (int i = 0; i < 1000; i++)
			sink += guarded(200);
	}

	static int fight(int n) {
		synchronized (LOCK) {
			return burn(n);
		}
	}

	static void contended() {
		for (int i = 0; i < 1000; i++)
			sink += fight(100);
	}

	static final List<Object> KEPT = new ArrayList<>();

	static int allocate(int n) {
		Object[] tree = new Object[n];

		for (int i = 0; i < n; i++)
			tree[i] = new byte[i % 400];
		KEPT.add(tree);
		if (KEPT.size() > 500)
			KEPT.clear();
		return tree.length;
	}

	static void gc() {
		for (int i = 0; i < 100; i++)
			sink += allocate(200);
	}

	static final TreeMap<Integer, double[]> MOVED = new TreeMap<>();

	// Loads and stores references to objects that the collector moves, since another thread makes garbage.
	static void barriers() {
		int x = (int)sink;
		double sum = 0;

		for (int i = 0; i < 20_000; i++) {
			x = x * 1103515245 + 12345;
			MOVED.put((x >>> 8) % 200_000, new double[] {i, x});
		}
		for (double[] pair : MOVED.values())
			sum += pair[0];
		sink += x + (long)sum;
	}

	static void garbage() {
		byte[][] some = new byte[64][];

		for (int i = 0; i < some.length; i++)
			some[i] = new byte[40_000];
		sink += some.length;
	}

	/** Defines its own copy of the classes nested in Known. */
	static class Loader extends ClassLoader {
		Loader() {
			super(Known.class.getClassLoader());
		}

		Class<?> copy(byte[] code) {
			return defineClass(null, code, 0, code.length);
		}
	}

	static byte[] code(String name) throws Exception {
		try (InputStream in = Known.class.getResourceAsStream(name + ".class")) {
			byte[] code = new byte[1 << 16];
			int len = 0;

			for (int n; (n = in.read(code, len, code.length - len)) > 0;)
				len += n;
			return Arrays.copyOf(code, len);
		}
	}

	static byte[] victim;

	static Runnable define() throws Exception {
		if (victim == null)
			victim = code("Known$Victim");
		return (Runnable) new Loader().copy(victim).getDeclaredConstructor().newInstance();
	}

	static void classes() throws Exception {
		for (int i = 0; i < 50; i++)
			sink += define().hashCode();
	}

	/** Compiled for one kind of argument, then given another: thrown away, each copy of the class anew. */
	public static class Victim implements Runnable {
		static int count;

		public Victim() {
		}

		static int visit(Object o, int i) {
			return o instanceof String ? ((String) o).length() + i : o.hashCode() * i;
		}

		@Override
		public void run() {
			Object[] kinds = {"text", 5, 'c', 2L};

			for (Object o : kinds)
				for (int i = 0; i < 30_000; i++)
					count += visit(o, i);
		}
	}

	static void deopt() throws Exception {
		define().run();
	}

	static int virtualDeep(int n) {
		if (n == 0) {
			Thread.yield();
			return burn(30_000);
		}
		return virtualDeep(n - 1) + burn(3000);
	}

	static void virtualBody() {
		while (System.nanoTime() < end)
			sink += virtualDeep(30);
	}

	static void virtual() throws Exception {
		Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		List<Thread> threads = new ArrayList<>();

		for (int i = 0; i < 8; i++)
			threads.add((Thread) start.invoke(null, (Runnable) Known::virtualBody));
		for (Thread t : threads)
			t.join();
	}

	// Much in little time, for many JVMs.
	static void mix() {
		for (int i = 0; i < 10; i++) {
			regex();
			lambdas();
		}
		treemap();
		exceptions();
		mega();
	}

	void step() throws Throwable {
		switch (mode) {
		case "recursion": recursion(); break;
		case "streams": streams(); break;
		case "regex": regex(); break;
		case "strings": strings(); break;
		case "treemap": treemap(); break;
		case "exceptions": exceptions(); break;
		case "reflection": reflection(); break;
		case "handles": handles(); break;
		case "lambdas": lambdas(); break;
		case "zip": zip(); break;
		case "jni": jni(); break;
		case "copy": copy(); break;
		case "crypto": crypto(); break;
		case "mega": mega(); break;
		case "osr": osr(); break;
		case "sync": sync(); break;
		case "contended": contended(); break;
		case "gc": gc(); break;
		case "barriers": barriers(); break;
		case "garbage": garbage(); break;
		case "classes": classes(); break;
		case "deopt": deopt(); break;
		case "virtual": virtual(); break;
		case "mix": mix(); break;
		default: throw new IllegalArgumentException(mode);
		}
	}

	@Override
	public void run() {
		try {
			while (System.nanoTime() < end)
				step();
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) {
		end = System.nanoTime() + 1_000_000_000L * Long.parseLong(args[1]);
		if (args[0].equals("jni"))
			System.load(System.getProperty("known.lib"));
		for (int i = 0; i < (args[0].equals("contended") ? 3 : 1); i++)
			new Thread(new Known(args[0]), "known").start();
		if (args[0].equals("barriers"))
			new Thread(new Known("garbage"), "garbage").start();
	}
}
