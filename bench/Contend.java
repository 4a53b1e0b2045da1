// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/** Contend THREADS HOLD: threads that take a monitor and a ReentrantLock by turns, each for HOLD microseconds. Prints each 100 ms
 * how often they have had one. */
public class Contend {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final LongAdder had = new LongAdder();

    static void hold(long ns) {
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end)
            Thread.onSpinWait();
    }

    static void holdMonitor(long ns) {
        synchronized (monitor) {
            hold(ns);
        }
    }

    static void holdLock(long ns) {
        lock.lock();
        try {
            hold(ns);
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        long ns = 1000 * Long.parseLong(args[1]);
        for (int i = Integer.parseInt(args[0]); i > 0; i--) {
            Thread t = new Thread(() -> {
                for (;;) {
                    holdMonitor(ns);
                    holdLock(ns);
                    had.add(2);
                }
            }, "contender");
            t.setDaemon(true);
            t.start();
        }
        for (;;) {
            Thread.sleep(100);
            System.out.println(System.nanoTime() + " " + had.sum());
        }
    }
}
