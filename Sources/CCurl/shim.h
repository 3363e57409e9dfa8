#pragma once
// curl_easy_setopt(3) and its like are variadic macros, which Swift cannot call: one function for each type.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

typedef size_t (*coffer_curl_transfer)(char *bytes, size_t size, size_t count, void *user);
typedef int (*coffer_curl_seek)(void *user, curl_off_t offset, int origin);

static inline bool coffer_curl_initialise(void) { return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

static inline CURLcode coffer_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode coffer_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode coffer_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode coffer_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode coffer_curl_set_transfer(CURL *easy, CURLoption option, coffer_curl_transfer value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode coffer_curl_set_seek(CURL *easy, coffer_curl_seek value) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

static inline long coffer_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline CURLMcode coffer_curl_set_multi_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The next finished transfer and its result; null if there is none.
static inline CURL *coffer_curl_next_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
