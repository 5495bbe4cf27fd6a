package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Admin is the host:port of an Envoy's admin interface.
type Admin string

var adminClient = &http.Client{Timeout: 10 * time.Second}

// Get reads a page of the admin interface; path begins with a slash.
func (a Admin) Get(ctx context.Context, path string) ([]byte, error) {
	return a.do(ctx, http.MethodGet, path)
}

// Post does what a page of the admin interface does when posted to.
func (a Admin) Post(ctx context.Context, path string) ([]byte, error) {
	return a.do(ctx, http.MethodPost, path)
}

func (a Admin) do(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+string(a)+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := adminClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %.200s", path, resp.Status, body)
	}
	return body, nil
}

// Ready succeeds when Envoy serves.
func (a Admin) Ready(ctx context.Context) error {
	_, err := a.Get(ctx, "/ready")
	return err
}

// Listeners maps each TCP listener's name to the host:port it is bound to.
func (a Admin) Listeners(ctx context.Context) (map[string]string, error) {
	body, err := a.Get(ctx, "/listeners?format=json")
	if err != nil {
		return nil, err
	}
	var page struct {
		Statuses []struct {
			Name    string `json:"name"`
			Address struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read the listeners: %w", err)
	}
	found := map[string]string{}
	for _, l := range page.Statuses {
		if s := l.Address.Socket; s.Port != 0 {
			found[l.Name] = net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
		}
	}
	return found, nil
}

// ConfigDump is the running configuration as JSON.
func (a Admin) ConfigDump(ctx context.Context) ([]byte, error) {
	return a.Get(ctx, "/config_dump")
}
