/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A plug-in that is linked with the driver's library, as renderers and runtimes load them. */
#ifdef __cplusplus
extern "C" {
#endif
/* cuMemAlloc_v2 and cuMemFree_v2 as the plug-in itself is bound to them. */
int plugin_allocate(unsigned long long* pointer, unsigned long bytes);
int plugin_free(unsigned long long pointer);
/* Its own getpid() hides libc's; the answer of the next one behind it, looked up anew each time. */
int plugin_next_getpid(void);
/* dlsym(RTLD_NEXT, name) as seen from the plug-in. */
void* plugin_next(const char* name);
/* dlsym(RTLD_DEFAULT, name) as seen from the plug-in. */
void* plugin_default(const char* name);
#ifdef __cplusplus
}
#endif
