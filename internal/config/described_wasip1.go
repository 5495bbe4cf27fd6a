package config

const described = false
