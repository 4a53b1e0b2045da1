// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Faults: touches new pages in a method of its own, and says of its process "NS PAGE-FAULTS" each 20 ms, as /proc has it. */
public class Faults {
    static final int PAGE = 4096, PAGES = 300;
    static volatile int sink;

    static void pages() throws Exception {
        for (;;) {
            /* Too large for malloc's heap: mapped anew each time, filled with zeros, and unmapped by the collector. */
            sink = ByteBuffer.allocateDirect(PAGE * PAGES).get(PAGE);
            Thread.sleep(3);
        }
    }

    static long faults() throws Exception {
        String stat = new String(Files.readAllBytes(Paths.get("/proc/self/stat")), "ISO-8859-1");
        String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(words[7]) + Long.parseLong(words[9]); /* minflt, majflt: proc(5) */
    }

    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            try {
                pages();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }, "toucher");
        t.setDaemon(true);
        t.start();
        for (long n = 0;; n++) {
            long before = System.nanoTime();
            long faults = faults();
            System.out.println(before + " " + System.nanoTime() + " " + faults);
            System.out.flush();
            Thread.sleep(20);
        }
    }
}
