//! Keeps accounts: one balance per key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Ctx, Failure, Result};

weir_sdk::handlers! {
    /// Keeps accounts. The key is the account.
    {{type}};

    handlers {
        /// Pays in. A stream may do so, and so may a call.
        deposit(event, call),
        /// Pays out, if there is enough.
        withdraw(call),
        /// Replies with the balance.
        balance(read),
        /// Moves money to another account of the operator named in `to`.
        transfer(call),
    }
    outputs {
        /// Each change of a balance.
        CHANGES: Change
    }
    cells {
        /// What is in the account, in cents.
        BALANCE: Counter
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// In cents.
    pub amount: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Transfer {
    /// In cents.
    pub amount: i64,
    /// The operator that keeps the other account, as the pipeline file names it.
    pub to: String,
    /// The other account.
    pub account: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub account: String,
    /// In cents.
    pub balance: i64,
}

/// A handler's changes take effect only if it returns ok.
async fn deposit(ctx: &Ctx, deposit: Amount) -> Result<i64> {
    change(ctx, deposit.amount)
}

async fn withdraw(ctx: &Ctx, withdrawal: Amount) -> Result<i64> {
    change(ctx, -withdrawal.amount)
}

async fn balance(ctx: &Ctx, _nothing: ()) -> Result<i64> {
    BALANCE.get(ctx)
}

async fn transfer(ctx: &Ctx, transfer: Transfer) -> Result<i64> {
    let balance = change(ctx, -transfer.amount)?;
    let deposit = Amount { amount: transfer.amount };
    // Many invocations may wait here at once; this account is held meanwhile.
    let _: i64 = ctx.call(&transfer.to, "deposit", &deposit).key(&transfer.account).await?;
    Ok(balance)
}

fn change(ctx: &Ctx, amount: i64) -> Result<i64> {
    let balance = BALANCE.add(ctx, amount)?;
    if balance < 0 {
        return Err(Failure::terminal("too-little", format!("{} is missing", -balance)));
    }
    CHANGES.emit(ctx, &Change { account: ctx.key_str()?.into(), balance })?;
    Ok(balance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_beyond_the_balance_fails_and_changes_nothing() {
        let mut host = weir_sdk::testing::handlers::<{{type}}>();
        host.event("ann", "deposit", &Amount { amount: 300 }).unwrap();
        let failure = host.call::<i64>("ann", "withdraw", &Amount { amount: 301 }).unwrap_err();
        assert!(failure.is("too-little"));
        assert_eq!(host.call::<i64>("ann", "balance", &()).unwrap(), 300);
        assert_eq!(host.take::<Change>("changes").len(), 1);
    }

    #[test]
    fn a_transfer_calls_the_other_account() {
        let mut bank = weir_sdk::testing::handlers::<{{type}}>();
        let mut host = weir_sdk::testing::handlers::<{{type}}>();
        host.answer("bank", "deposit", move |request| {
            bank.serve(request)?;
            Ok(bank.counter("bob", "balance"))
        });
        host.event("ann", "deposit", &Amount { amount: 300 }).unwrap();
        let transfer = Transfer { amount: 100, to: "bank".into(), account: "bob".into() };
        assert_eq!(host.call::<i64>("ann", "transfer", &transfer).unwrap(), 200);
        assert_eq!(host.take_calls()[0].key.as_deref(), Some(b"bob".as_slice()));
    }
}
