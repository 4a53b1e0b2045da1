// SPDX-License-Identifier: Apache-2.0
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Wall: threads that wait by a plan, each for one cause, and say of each wait when it began and ended (ns of System.nanoTime, which is
 * CLOCK_MONOTONIC): "THREAD CAUSE BEGIN END". A thread "burner" says how much processor time it has had: "burner cpu AT NS". Ends with
 * its container.
 *
 * <p>Wall DIRECTORY [THREAD]: where a file is written; the only thread that runs, or "virtual": all are virtual ones (JDK 21).
 */
public class Wall {
	static class Held {
	}

	static class Awaited {
	}

	static final Object monitor = new Held(), waited = new Awaited();
	static final ReentrantLock lock = new ReentrantLock();
	static volatile double sink;

	interface Act {
		void run() throws Exception;
	}

	/** Lines of a thread, which it writes itself: without a lock that others want. */
	static class Ledger {
		final String name;
		final StringBuilder lines = new StringBuilder();
		long said = System.nanoTime();

		Ledger(String name) {
			this.name = name;
		}

		void note(String cause, long begin, long end) {
			lines.append(name).append(' ').append(cause).append(' ').append(begin).append(' ').append(end).append('\n');
			if (end - said < 500_000_000)
				return;
			said = end;
			byte[] all = lines.toString().getBytes();
			lines.setLength(0);
			out.write(all, 0, all.length);
		}

		void wait(String cause, Act act) throws Exception {
			long begin = System.nanoTime();
			act.run();
			note(cause, begin, System.nanoTime());
		}
	}

	static PrintStream out;

	static void spin(long us) {
		long end = System.nanoTime() + us * 1000;
		while (System.nanoTime() < end)
			sink += Math.sqrt(sink + 1);
	}

	static void sleeps(Ledger l) throws Exception {
		for (;;) {
			l.wait("sleep", () -> Thread.sleep(17));
			spin(300);
		}
	}

	static void parks(Ledger l) throws Exception {
		for (;;) {
			l.wait("park", () -> LockSupport.parkNanos(23_000_000));
			spin(300);
		}
	}

	static void waits(Ledger l) throws Exception {
		for (;;)
			synchronized (waited) {
				l.wait("wait", () -> waited.wait(29));
			}
	}

	static void holds(Ledger l) throws Exception {
		for (;;) {
			synchronized (monitor) {
				l.wait("sleep", () -> Thread.sleep(40));
			}
			l.wait("sleep", () -> Thread.sleep(15));
		}
	}

	static void wants(Ledger l) throws Exception {
		for (;;) {
			long begin = System.nanoTime();
			synchronized (monitor) {
				l.note("monitor", begin, System.nanoTime());
			}
			l.wait("sleep", () -> Thread.sleep(5));
		}
	}

	static void locks(Ledger l) throws Exception {
		for (;;) {
			lock.lock();
			try {
				l.wait("sleep", () -> Thread.sleep(30));
			} finally {
				lock.unlock();
			}
			l.wait("sleep", () -> Thread.sleep(11));
		}
	}

	static void queues(Ledger l) throws Exception {
		for (;;) {
			l.wait("park", () -> lock.lock());
			lock.unlock();
			l.wait("sleep", () -> Thread.sleep(4));
		}
	}

	static void answers(Ledger l, Socket s) throws Exception {
		byte[] b = new byte[1];
		for (;;) {
			l.wait("socket", () -> s.getInputStream().read(b));
			l.wait("sleep", () -> Thread.sleep(19));
			s.getOutputStream().write(b);
		}
	}

	static void asks(Ledger l, Socket s) throws Exception {
		byte[] b = new byte[1];
		for (;;) {
			s.getOutputStream().write(b);
			l.wait("socket", () -> s.getInputStream().read(b));
		}
	}

	static void writes(Ledger l, String directory) throws Exception {
		FileChannel file = FileChannel.open(Paths.get(directory, "data"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
		ByteBuffer data = ByteBuffer.allocateDirect(1 << 22);
		for (;;) {
			data.clear();
			file.write(data, 0);
			l.wait("file", () -> file.force(true));
			l.wait("sleep", () -> Thread.sleep(30));
		}
	}

	static void burns(Ledger l) {
		java.lang.management.ThreadMXBean bean = ManagementFactory.getThreadMXBean();
		for (;;) {
			spin(20000);
			long at, used;
			do { // both of one moment: not when another thread came between
				at = System.nanoTime();
				used = bean.getCurrentThreadCpuTime();
			} while (System.nanoTime() - at > 1_000_000);
			l.note("cpu", used, at);
		}
	}

	static String only;

	static void start(String name, java.util.function.Consumer<Ledger> run) {
		Runnable body = () -> run.accept(new Ledger(name));
		if ("virtual".equals(only))
			startVirtual(name, body);
		else if (only == null || only.equals(name))
			new Thread(body, name).start();
	}

	/** Thread.ofVirtual().name(name).start(body), for compilers of JDK 8. */
	static void startVirtual(String name, Runnable body) {
		try {
			Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
			Class<?> type = Class.forName("java.lang.Thread$Builder");
			type.getMethod("name", String.class).invoke(builder, name);
			type.getMethod("start", Runnable.class).invoke(builder, body);
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	interface Job {
		void run(Ledger l) throws Exception;
	}

	static void job(String name, Job job) {
		start(name, l -> {
			try {
				job.run(l);
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		});
	}

	public static void main(String[] args) throws Exception {
		out = new PrintStream(new FileOutputStream(args[0] + "/ledger"), true);
		only = args.length > 1 ? args[1] : null;
		ServerSocket server = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress());
		Socket asking = new Socket(server.getInetAddress(), server.getLocalPort()), answering = server.accept();
		asking.setTcpNoDelay(true);
		answering.setTcpNoDelay(true);
		job("sleeper", Wall::sleeps);
		job("parker", Wall::parks);
		job("waiter", Wall::waits);
		job("holder", Wall::holds);
		job("wanter", Wall::wants);
		job("locker", Wall::locks);
		job("queuer", Wall::queues);
		job("answerer", l -> answers(l, answering));
		job("asker", l -> asks(l, asking));
		job("writer", l -> writes(l, args[0]));
		job("burner", Wall::burns);
		job("idler", l -> Thread.sleep(Long.MAX_VALUE));
		job("collector", l -> {
			for (;;) {
				l.wait("safepoint", () -> System.gc());
				l.wait("sleep", () -> Thread.sleep(200));
			}
		});
		System.out.println("round");
		if ("virtual".equals(only))
			Thread.sleep(Long.MAX_VALUE); // they do not keep the JVM
	}
}
