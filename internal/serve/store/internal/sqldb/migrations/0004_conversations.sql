-- Whose a conversation is: the agent's that began it.
CREATE TABLE conversations (
	id TEXT NOT NULL PRIMARY KEY,
	agent TEXT NOT NULL
);
INSERT INTO conversations (id, agent)
	SELECT sessions.conversation, MIN(tokens.name) FROM sessions JOIN tokens ON tokens.id = sessions.owner
	WHERE sessions.conversation <> '' GROUP BY sessions.conversation;
