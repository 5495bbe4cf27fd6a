package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/engine"
)

func scriptOf(p *config.Policy) string { return engine.New(p).Script().SHA }

// needed are the commands that the gateways' user must be allowed, each with
// arguments as the plugin and its scripts give them. K stands for a key.
var needed = [][]string{
	{"EVALSHA", "0123456789012345678901234567890123456789", "1", "K"},
	{"EVAL", "return 1", "1", "K"},
	{"TIME"}, {"PING"},
	{"GET", "K"}, {"SET", "K", "v", "PX", "1000"}, {"GETRANGE", "K", "0", "9"}, {"SETRANGE", "K", "0", "v"},
	{"DEL", "K"}, {"PEXPIRE", "K", "1000"},
	{"ZADD", "K", "1", "m"}, {"ZRANGE", "K", "0", "1"}, {"ZRANGEBYSCORE", "K", "0", "1"}, {"ZCARD", "K"},
	{"ZCOUNT", "K", "0", "1"}, {"ZSCORE", "K", "m"}, {"ZREM", "K", "m"}, {"ZREMRANGEBYRANK", "K", "0", "1"},
	{"ZREMRANGEBYSCORE", "K", "0", "1"},
}

// rights looks whether the user of the configuration may do what gateways do.
func rights(ctx context.Context, r *room, c *redis.Client, _ info) error {
	user := r.Policy.Redis.Username
	if user == "" {
		user = "default"
	}
	key := r.Prefix + ":{sluice-doctor|}:fix1"
	var refused []string
	all := needed
	if r.Policy.RuntimeOverrides {
		all = append(all[:len(all):len(all)], []string{"HSCAN", "K", "0", "COUNT", "500"})
	}
	for _, cmd := range all {
		args := []any{"ACL", "DRYRUN", user}
		for _, a := range cmd {
			if a == "K" {
				a = key
			}
			args = append(args, a)
		}
		reply, err := c.Do(ctx, args...).Text()
		switch {
		case err == nil && reply == "OK":
		case err == nil:
			refused = append(refused, cmd[0])
		case unknownCommand(err) || redis.HasErrorPrefix(err, "NOPERM"):
			return r.tryRights(ctx, c, key)
		case strings.Contains(err.Error(), "not found"):
			r.fail("Redis has no user "+user, "ACL SETUSER "+user+", or correct redis.username")
			return nil
		default:
			return err
		}
	}
	r.sayRights(user, refused)
	return nil
}

// unknownCommand reports that this Redis has no ACL DRYRUN: it came with 7.0.
func unknownCommand(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "unknown command") || strings.Contains(text, "unknown subcommand") || strings.Contains(text, "unknown") && strings.Contains(text, "dryrun")
}

// tryRights tries commands that change nothing as the user that doctor connects
// as.
func (r *room) tryRights(ctx context.Context, c *redis.Client, key string) error {
	var refused []string
	for name, try := range map[string]func() error{
		"EVAL": func() error { return c.Eval(ctx, "return 1", []string{key}).Err() },
		"TIME": func() error { return c.Time(ctx).Err() },
		"GET":  func() error { return c.Get(ctx, key).Err() },
	} {
		if err := try(); redis.HasErrorPrefix(err, "NOPERM") {
			refused = append(refused, name)
		}
	}
	slices.Sort(refused)
	r.sayRights("that doctor connects as", refused)
	return nil
}

func (r *room) sayRights(user string, refused []string) {
	if len(refused) == 0 {
		r.ok("the user " + user + " may do what gateways do")
		return
	}
	var rules []string
	for _, c := range refused {
		rules = append(rules, "+"+strings.ToLower(c))
	}
	r.fail("the user "+user+" may not run "+strings.Join(refused, ", ")+" on keys "+r.Prefix+":*, so limits fail",
		"ACL SETUSER "+user+" ~"+r.Prefix+":* "+strings.Join(rules, " "))
}
