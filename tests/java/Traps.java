// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Traps FILE: until FILE is there, has the same class compiled over and over, by loaders of its own, and then does with it what
 * its compiled code was not made for. Prints "round AFTER NOW" each time: the time after the last such line, and before this one. */
public class Traps {
    public static class Target {
        public static int guess(int n, Object o) {
            if (n < 0)
                return rare(n);
            return n + o.hashCode();
        }

        static int rare(int n) {
            return Integer.toString(n).hashCode();
        }
    }

    static final class Loader extends ClassLoader {
        Loader() {
            super(null);
        }

        Class<?> define(byte[] bytes) {
            return defineClass("Traps$Target", bytes, 0, bytes.length);
        }
    }

    static byte[] bytes() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (InputStream in = Traps.class.getResourceAsStream("Traps$Target.class")) {
            for (int b; (b = in.read()) >= 0;)
                out.write(b);
        }
        return out.toByteArray();
    }

    public static void main(String[] args) throws Exception {
        long after = System.nanoTime();
        byte[] bytes = bytes();
        int sum = 0;
        while (!Files.exists(Paths.get(args[0]))) {
            Method guess = new Loader().define(bytes).getMethod("guess", int.class, Object.class);
            for (int i = 0; i < 30000; i++)
                sum += (Integer) guess.invoke(null, i % 100, "x");
            Thread.sleep(20); /* until it is compiled */
            sum += (Integer) guess.invoke(null, -5, "x"); /* a branch that was never taken */
            System.out.println("round " + after + " " + System.nanoTime());
            after = System.nanoTime();
        }
        System.out.println("sum " + sum);
    }
}
