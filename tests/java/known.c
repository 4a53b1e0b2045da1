// SPDX-License-Identifier: Apache-2.0
/* Known.down: native code without frame pointers between two Java frames.
 * cc -shared -fPIC -O2 -fomit-frame-pointer -I$JAVA_HOME/include -I$JAVA_HOME/include/linux */
#include <jni.h>

__attribute__((noinline)) static jint known_middle(JNIEnv *env, jclass known, jint n)
{
	jmethodID called = (*env)->GetStaticMethodID(env, known, "called", "(I)I");
	volatile jint sum = 0;

	for (int i = 0; i < 20; i++)
		sum += (*env)->CallStaticIntMethod(env, known, called, n);
	return sum;
}

JNIEXPORT jint JNICALL Java_Known_down(JNIEnv *env, jclass known, jint n)
{
	return known_middle(env, known, n) + 1;
}
