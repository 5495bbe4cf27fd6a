package doctor

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// info is what INFO says, by field.
type info map[string]string

func readInfo(ctx context.Context, c *redis.Client) (info, error) {
	text, err := c.Info(ctx).Result()
	if redis.HasErrorPrefix(err, "NOPERM") {
		return info{}, nil // each check says that it can't look
	}
	if err != nil {
		return nil, err
	}
	out := info{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[k] = v
		}
	}
	return out, nil
}

// number is a field as a number; false where there is none.
func (i info) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(i[name], 10, 64)
	return n, err == nil
}

// fields takes apart a value such as ip=10.0.0.1,offset=5.
func fields(value string) map[string]string {
	out := map[string]string{}
	for _, f := range strings.Split(value, ",") {
		if k, v, ok := strings.Cut(f, "="); ok {
			out[k] = v
		}
	}
	return out
}
