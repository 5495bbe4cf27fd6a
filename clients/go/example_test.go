package backoff_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	backoff "sluice/clients/go"
)

// A service that is busy once: the client is told to wait, and does.
func Example() {
	asked := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer service.Close()

	client := &http.Client{Transport: &backoff.Transport{}, Timeout: 30 * time.Second}
	resp, err := client.Get(service.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, "after", asked, "requests")
	// Output: 200 after 2 requests
}
