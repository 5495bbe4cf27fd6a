package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// PrometheusOptions say how a Prometheus is started. All must be set.
type PrometheusOptions struct {
	Binary string // path of prometheus, from FindPrometheus
	Dir    string // where its log and data go; it is made
	Config string // path of its configuration file
}

// Prometheus is a Prometheus server.
type Prometheus struct {
	URL string // without a path

	proc *Process
}

// StartPrometheus starts a Prometheus on a free port and waits until it serves.
func StartPrometheus(o PrometheusOptions) (*Prometheus, error) {
	var last error
	for range portTries {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		p := &Prometheus{URL: "http://" + Addr(port)}
		p.proc, err = StartService(ServiceOptions{
			Name: "prometheus", Binary: o.Binary, Dir: o.Dir,
			Args: []string{
				"--config.file=" + o.Config, "--web.listen-address=" + Addr(port),
				"--storage.tsdb.path=" + filepath.Join(o.Dir, "prometheus"), "--log.level=warn",
			},
			Ready: func() error { _, err := p.get("/-/ready", nil); return err },
		})
		if err == nil {
			return p, nil
		}
		last = err
		var ended *EndedError
		if !errors.As(err, &ended) || !strings.Contains(ended.Tail, "address already in use") {
			break
		}
	}
	return nil, last
}

// Process is the running server.
func (p *Prometheus) Process() *Process { return p.proc }

// Sample is one series of a query's result.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query evaluates a PromQL expression now; it must give an instant vector or a
// scalar, which is a Sample without labels.
func (p *Prometheus) Query(expr string) ([]Sample, error) {
	body, err := p.get("/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Data struct {
			Type   string          `json:"resultType"`
			Result json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, err
	}
	type series struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	var all []series
	switch reply.Data.Type {
	case "vector":
		err = json.Unmarshal(reply.Data.Result, &all)
	case "scalar":
		all = make([]series, 1)
		err = json.Unmarshal(reply.Data.Result, &all[0].Value)
	default:
		err = fmt.Errorf("%s gives a %s", expr, reply.Data.Type)
	}
	if err != nil {
		return nil, err
	}
	samples := make([]Sample, len(all))
	for i, s := range all {
		text, _ := s.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", expr, err)
		}
		samples[i] = Sample{s.Metric, v}
	}
	return samples, nil
}

var prometheusClient = &http.Client{Timeout: 10 * time.Second}

func (p *Prometheus) get(path string, query url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.URL+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := prometheusClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %.300s", path, resp.Status, body)
	}
	return body, nil
}
