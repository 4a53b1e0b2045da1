// SPDX-License-Identifier: Apache-2.0
/**
 * Receivers: calls methods of objects of four classes, of which 60, 20, 10 and 10 of 100 are, by the class and by an interface: with so many
 * classes the compiler leaves the choice to vtable and itable stubs. Ends with its container.
 */
public class Receivers {
	interface Shape {
		int area(int x);
	}

	abstract static class Base implements Shape {
		abstract int side(int x);
	}

	static class A extends Base {
		public int area(int x) {
			return x + 1;
		}

		int side(int x) {
			return x ^ 1;
		}
	}

	static class B extends Base {
		public int area(int x) {
			return x + 2;
		}

		int side(int x) {
			return x ^ 2;
		}
	}

	static class C extends Base {
		public int area(int x) {
			return x + 3;
		}

		int side(int x) {
			return x ^ 3;
		}
	}

	static class D extends Base {
		public int area(int x) {
			return x + 4;
		}

		int side(int x) {
			return x ^ 4;
		}
	}

	static int interfaces(Shape[] all) {
		int sum = 0;
		for (Shape each : all)
			sum += each.area(sum);
		return sum;
	}

	static int classes(Base[] all) {
		int sum = 0;
		for (Base each : all)
			sum += each.side(sum);
		return sum;
	}

	public static void main(String[] args) {
		java.util.Random random = new java.util.Random(1);
		Base[] all = new Base[10000];
		for (int i = 0; i < all.length; i++) {
			int n = random.nextInt(10);
			all[i] = n < 6 ? new A() : n < 8 ? new B() : n < 9 ? new C() : new D();
		}
		long sum = 0, turns = 0;
		for (;;) {
			sum += interfaces(all) + classes(all);
			if (++turns % 20000 == 0)
				System.out.println("round " + sum);
		}
	}
}
