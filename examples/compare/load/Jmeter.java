// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import org.apache.jmeter.NewDriver;

/**
 * JMeter, started so that it can read its plan. Debian 12 has XStream 1.4.20, which reads no class that it has not been told
 * of, and JMeter 2.13, which tells it of none and ends with a ForbiddenClassException.
 */
public class Jmeter {
	public static void main(String[] arguments) throws Exception {
		String home = System.getProperty("jmeter.home");
		Field field = NewDriver.class.getDeclaredField("loader");
		field.setAccessible(true);
		ClassLoader loader = (ClassLoader) field.get(null);
		Thread.currentThread().setContextClassLoader(loader);
		Class<?> utils = loader.loadClass("org.apache.jmeter.util.JMeterUtils");
		utils.getMethod("setJMeterHome", String.class).invoke(null, home);
		utils.getMethod("loadJMeterProperties", String.class).invoke(null, home + "/bin/jmeter.properties");
		Class<?> service = Class.forName("org.apache.jmeter.save.SaveService", true, loader);
		for (String name : new String[] {"JMXSAVER", "JTLSAVER"}) {
			Field saver = service.getDeclaredField(name);
			saver.setAccessible(true);
			Object xstream = saver.get(null);
			xstream.getClass().getMethod("allowTypesByWildcard", String[].class)
				.invoke(xstream, (Object) new String[] {"org.apache.**", "java.**"});
		}
		NewDriver.main(arguments);
	}
}
