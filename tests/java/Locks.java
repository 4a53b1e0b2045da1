// SPDX-License-Identifier: Apache-2.0
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Threads that wait for locks of several classes, which others hold for some ms in methods of their own, and threads
 * that wait for something else. Prints a line each time a thread held a lock or waited for one, "CLASS METHOD ASKED GOT
 * LEFT" (System.nanoTime), and every 5 ms "time NS": what ended well before that is above. Nothing of this takes a lock
 * that is counted.
 */
public class Locks {
	interface Step {
		void run() throws Exception;
	}

	static class MonitorA {}
	static class MonitorB {}
	static class MonitorC {}
	static class MonitorIdle {}

	static final MonitorA a = new MonitorA();
	static final MonitorB b = new MonitorB();
	static final MonitorC c = new MonitorC();
	static final MonitorIdle idle = new MonitorIdle();
	static final ReentrantLock lock = new ReentrantLock(), fair = new ReentrantLock(true), own = new ReentrantLock();
	static final ReentrantReadWriteLock pair = new ReentrantReadWriteLock();
	static final Semaphore semaphore = new Semaphore(1);
	static final Queue<String> ledger = new ConcurrentLinkedQueue<>();
	static final LinkedBlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
	static volatile CountDownLatch latch = new CountDownLatch(1);
	static volatile boolean waits;

	static void note(Object of, String method, long asked, long got, long left) {
		add(of.getClass().getName(), method, asked, got, left);
	}

	static void note(String of, String method, long asked, long got, long left) {
		add("java.util.concurrent." + of, method, asked, got, left);
	}

	/** Called without the lock. Less than 10 µs is no wait. */
	static void add(String of, String method, long asked, long got, long left) {
		if (method.startsWith("hold") || got - asked > 10000)
			ledger.add(of + " " + method + " " + asked + " " + got + " " + left);
	}

	/* ---- a monitor: one method holds it, several threads wait ---- */

	static void holdMonitorA() throws Exception {
		long asked = System.nanoTime(), got, left;
		synchronized (a) {
			got = System.nanoTime();
			Thread.sleep(20);
			left = System.nanoTime();
		}
		note(a, "holdMonitorA", asked, got, left);
	}

	static void wantMonitorA() {
		long asked = System.nanoTime(), got, left;
		synchronized (a) {
			got = System.nanoTime();
			left = System.nanoTime();
		}
		note(a, "wantMonitorA", asked, got, left);
	}

	/* ---- a monitor that two methods hold ---- */

	static void holdMonitorBShort() throws Exception {
		long asked = System.nanoTime(), got, left;
		synchronized (b) {
			got = System.nanoTime();
			Thread.sleep(5);
			left = System.nanoTime();
		}
		note(b, "holdMonitorBShort", asked, got, left);
	}

	static void holdMonitorBLong() throws Exception {
		long asked = System.nanoTime(), got, left;
		synchronized (b) {
			got = System.nanoTime();
			Thread.sleep(25);
			left = System.nanoTime();
		}
		note(b, "holdMonitorBLong", asked, got, left);
	}

	static void wantMonitorB() {
		long asked = System.nanoTime(), got, left;
		synchronized (b) {
			got = System.nanoTime();
			left = System.nanoTime();
		}
		note(b, "wantMonitorB", asked, got, left);
	}

	/* ---- a monitor that is left by Object.wait, and entered again ---- */

	/** Its time is over while the other one has the monitor: it asks then. */
	static void waitMonitorC() throws Exception {
		long asked, got, left;
		synchronized (c) {
			waits = true;
			asked = System.nanoTime() + 10000000;
			c.wait(10);
			got = System.nanoTime();
			waits = false;
			left = System.nanoTime();
		}
		note(c, "waitMonitorC", asked, got, left);
	}

	static void holdMonitorC() throws Exception {
		if (!waits)
			return;
		long asked = System.nanoTime(), got, left;
		synchronized (c) {
			got = System.nanoTime();
			c.notify();
			Thread.sleep(60);
			left = System.nanoTime();
		}
		note(c, "holdMonitorC", asked, got, left);
	}

	/* ---- java.util.concurrent ---- */

	static void holdLock() throws Exception {
		long asked = System.nanoTime(), got, left;
		lock.lock();
		got = System.nanoTime();
		spin(20);
		left = System.nanoTime();
		lock.unlock();
		note("locks.ReentrantLock$NonfairSync", "holdLock", asked, got, left);
	}

	static void wantLock() {
		long asked = System.nanoTime(), got, left;
		lock.lock();
		got = System.nanoTime();
		left = System.nanoTime();
		lock.unlock();
		note("locks.ReentrantLock$NonfairSync", "wantLock", asked, got, left);
	}

	static void holdFairShort() throws Exception {
		long asked = System.nanoTime(), got, left;
		fair.lock();
		got = System.nanoTime();
		Thread.sleep(5);
		left = System.nanoTime();
		fair.unlock();
		note("locks.ReentrantLock$FairSync", "holdFairShort", asked, got, left);
	}

	static void holdFairLong() throws Exception {
		long asked = System.nanoTime(), got, left;
		fair.lock();
		got = System.nanoTime();
		Thread.sleep(25);
		left = System.nanoTime();
		fair.unlock();
		note("locks.ReentrantLock$FairSync", "holdFairLong", asked, got, left);
	}

	static void wantFair() {
		long asked = System.nanoTime(), got, left;
		fair.lock();
		got = System.nanoTime();
		left = System.nanoTime();
		fair.unlock();
		note("locks.ReentrantLock$FairSync", "wantFair", asked, got, left);
	}

	static void holdWrite() throws Exception {
		long asked = System.nanoTime(), got, left;
		pair.writeLock().lock();
		got = System.nanoTime();
		Thread.sleep(20);
		left = System.nanoTime();
		pair.writeLock().unlock();
		note("locks.ReentrantReadWriteLock$NonfairSync", "holdWrite", asked, got, left);
	}

	static void wantRead() {
		long asked = System.nanoTime(), got, left;
		pair.readLock().lock();
		got = System.nanoTime();
		left = System.nanoTime();
		pair.readLock().unlock();
		note("locks.ReentrantReadWriteLock$NonfairSync", "wantRead", asked, got, left);
	}

	static void holdSemaphore() throws Exception {
		long asked = System.nanoTime(), got, left;
		semaphore.acquire();
		got = System.nanoTime();
		Thread.sleep(15);
		left = System.nanoTime();
		semaphore.release();
		note("Semaphore$NonfairSync", "holdSemaphore", asked, got, left);
	}

	static void wantSemaphore() throws Exception {
		long asked = System.nanoTime(), got, left;
		semaphore.acquire();
		got = System.nanoTime();
		left = System.nanoTime();
		semaphore.release();
		note("Semaphore$NonfairSync", "wantSemaphore", asked, got, left);
	}

	/* ---- what is no wait for a lock: each ends again and again ---- */

	static void idleCondition(Condition never) throws Exception {
		own.lock();
		never.await(10, TimeUnit.MILLISECONDS);
		own.unlock();
	}

	static void idleLatch() throws Exception {
		latch.await();
		latch = new CountDownLatch(1);
	}

	static void idleQueue() throws Exception {
		queue.take();
	}

	static void idleWait() throws Exception {
		synchronized (idle) {
			idle.wait(10);
		}
	}

	/* ---- threads ---- */

	static void spin(int ms) {
		long end = System.nanoTime() + ms * 1000000L;
		while (System.nanoTime() < end)
			;
	}

	static void repeat(String name, int pause, Step... steps) {
		Thread t = new Thread(() -> {
			try {
				for (int i = 0;; i++) {
					steps[i % steps.length].run();
					if (pause > 0)
						Thread.sleep(pause);
				}
			} catch (Exception e) {
				e.printStackTrace();
			}
		}, "locks-" + name);
		t.setDaemon(true);
		t.start();
	}

	static void several(int n, String name, int pause, Step step) {
		for (int i = 0; i < n; i++)
			repeat(name + "-" + i, pause, step);
	}

	public static void main(String[] args) throws Exception {
		repeat("holdA", 10, Locks::holdMonitorA);
		several(3, "wantA", 5, Locks::wantMonitorA);
		repeat("holdB", 10, Locks::holdMonitorBShort, Locks::holdMonitorBLong);
		several(2, "wantB", 4, Locks::wantMonitorB);
		repeat("waitC", 5, Locks::waitMonitorC);
		repeat("holdC", 1, Locks::holdMonitorC);
		repeat("holdLock", 20, Locks::holdLock);
		several(2, "wantLock", 7, Locks::wantLock);
		repeat("holdFair", 10, Locks::holdFairShort, Locks::holdFairLong);
		several(2, "wantFair", 4, Locks::wantFair);
		repeat("holdWrite", 10, Locks::holdWrite);
		several(3, "wantRead", 5, Locks::wantRead);
		repeat("holdSemaphore", 10, Locks::holdSemaphore);
		several(2, "wantSemaphore", 5, Locks::wantSemaphore);

		Condition never = own.newCondition();
		repeat("idleCondition", 0, () -> idleCondition(never));
		repeat("idleLatch", 0, Locks::idleLatch);
		repeat("idleQueue", 0, Locks::idleQueue);
		repeat("idleWait", 0, Locks::idleWait);
		ThreadPoolExecutor pool = new ThreadPoolExecutor(2, 2, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>());
		repeat("feed", 20, () -> {
			latch.countDown();
			queue.add(Locks::waits);
			pool.execute(Locks::waits);
		});
		for (;;) {
			Thread.sleep(5);
			long time = System.nanoTime();
			for (String line = ledger.poll(); line != null; line = ledger.poll())
				System.out.println(line);
			System.out.println("time " + time);
		}
	}

	static void waits() {}
}
